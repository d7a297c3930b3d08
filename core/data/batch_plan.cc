#include "core/data/batch_plan.h"

#include <algorithm>
#include <utility>

namespace tenon {

BatchPlan::BatchPlan(std::shared_ptr<const Dataset> dataset, const Sampler& sampler, const Options& options)
    : dataset_(std::move(dataset)),
      sampler_(sampler),
      options_(options),
      step_samples_(options.shard.whole_batches ? options.batch : options.batch * options.shard.size),
      waiting_(options.buckets.size()),
      fronts_(options.buckets.size()) {}

Result<BatchPlan> BatchPlan::Create(std::shared_ptr<const Dataset> dataset, const Sampler& sampler,
                                    const Options& options) {
  TENON_TRY(options.shard.Check());
  BatchPlan plan(std::move(dataset), sampler, options);
  const std::int64_t count = sampler.count();
  TENON_INVALID_IF(count == 0, "There are no samples to load.");
  if (!options.buckets.empty()) {
    plan.sampler_.Order(0, &plan.order_);
    TENON_TRY(plan.CheckLengths());
  }
  plan.SetEpoch(0);
  plan.steps_ = static_cast<std::int64_t>(plan.pieces_.size());
  for (const Piece& piece : plan.pieces_) {
    plan.samples_ += piece.count;
    plan.largest_ = std::max(plan.largest_, piece.count);
  }
  if (!options.shard.whole_batches) TENON_TRY(plan.CheckShare());
  return plan;
}

Status BatchPlan::CheckShare() const {
  const Shard& shard = options_.shard;
  TENON_INVALID_IF(steps_ == 0 && shard.size == 1,
                   "With drop_last no batch is left: there are {} samples, and a batch has {}.", sampler_.count(),
                   options_.batch);
  TENON_INVALID_IF(steps_ == 0,
                   "With drop_last no step is left: there are {} samples, and {} ranks have batches of {}.",
                   sampler_.count(), shard.size, options_.batch);
  TENON_INVALID_IF(samples_ == 0, "There are {} samples for {} ranks; rank {} gets none.", sampler_.count(), shard.size,
                   shard.rank);
  return {};
}

Status BatchPlan::CheckLengths() const {
  for (const std::int64_t sample : order_) {
    if (dataset_->Length(sample) <= options_.buckets.back()) continue;
    return InvalidArgument("The sample has {} tokens; the longest of the 'buckets' is {}.", dataset_->Length(sample),
                           options_.buckets.back())
        .At(dataset_->Place(sample));
  }
  return {};
}

void BatchPlan::SetEpoch(std::int64_t epoch) {
  sampler_.Order(epoch, &order_);
  pieces_.clear();
  if (options_.buckets.empty())
    CutOrder();
  else
    FillBuckets();
  for (Piece& piece : pieces_) piece.total = piece.count;
  if (options_.shard.size == 1) return;
  if (options_.shard.whole_batches)
    KeepWholeBatches();
  else
    KeepPlaces();
}

// A step that is not full goes on with samples of `front`, from its first on, until each rank has as many.
void BatchPlan::Wrap(std::vector<std::int64_t>& samples, const std::vector<std::int64_t>& front) const {
  const Shard& shard = options_.shard;
  if (shard.rule != ShardRule::kWrap || shard.whole_batches) return;
  const auto wanted = static_cast<std::size_t>(shard.RoundedUp(static_cast<std::int64_t>(samples.size())));
  for (std::size_t at = 0; samples.size() < wanted; at = (at + 1) % front.size()) {
    const std::int64_t sample = front[at];  // `front` may be `samples`
    samples.push_back(sample);
  }
}

void BatchPlan::CutOrder() {
  Wrap(order_, order_);
  const std::int64_t count = static_cast<std::int64_t>(order_.size());
  for (std::int64_t first = 0; first < count; first += step_samples_) {
    Piece piece{first, std::min(step_samples_, count - first), 0, order_[static_cast<std::size_t>(first)]};
    if (options_.drop_last && piece.count < step_samples_) break;
    for (std::int64_t i = 0; dataset_->varies() && i < piece.count; ++i)
      piece.length = std::max(piece.length, dataset_->Length(order_[static_cast<std::size_t>(first + i)]));
    pieces_.push_back(piece);
  }
}

std::size_t BatchPlan::BucketOf(std::int64_t sample) const {
  const auto at = std::lower_bound(options_.buckets.begin(), options_.buckets.end(), dataset_->Length(sample));
  return static_cast<std::size_t>(at - options_.buckets.begin());
}

void BatchPlan::FillBuckets() {
  arranged_.clear();
  const auto close = [&](std::size_t bucket) {
    std::vector<std::int64_t>& samples = waiting_[bucket];
    pieces_.push_back({static_cast<std::int64_t>(arranged_.size()), static_cast<std::int64_t>(samples.size()),
                       options_.buckets[bucket], samples.front()});
    arranged_.insert(arranged_.end(), samples.begin(), samples.end());
    samples.clear();
  };
  for (std::vector<std::int64_t>& front : fronts_) front.clear();
  for (const std::int64_t sample : order_) {
    const std::size_t bucket = BucketOf(sample);
    waiting_[bucket].push_back(sample);
    if (std::ssize(fronts_[bucket]) < options_.shard.size) fronts_[bucket].push_back(sample);
    if (std::ssize(waiting_[bucket]) == step_samples_) close(bucket);
  }
  for (std::size_t bucket = 0; bucket < waiting_.size(); ++bucket) {
    Wrap(waiting_[bucket], fronts_[bucket]);
    const bool full = std::ssize(waiting_[bucket]) == step_samples_;
    if (!waiting_[bucket].empty() && (full || !options_.drop_last)) close(bucket);
    waiting_[bucket].clear();
  }
  order_.swap(arranged_);
}

void BatchPlan::KeepWholeBatches() {
  std::size_t kept = 0;
  for (auto step = static_cast<std::size_t>(options_.shard.rank); step < pieces_.size();
       step += static_cast<std::size_t>(options_.shard.size))
    pieces_[kept++] = pieces_[step];
  pieces_.resize(kept);
}

void BatchPlan::KeepPlaces() {
  const Shard& shard = options_.shard;
  arranged_.clear();
  partners_.clear();
  for (Piece& piece : pieces_) {
    const std::int64_t* places = order_.data() + piece.first;
    const std::int64_t first = std::ssize(arranged_);
    for (std::int64_t place = shard.rank; place < piece.count; place += shard.size) {
      arranged_.push_back(places[place]);
      if (options_.partners) partners_.push_back(places[place > 0 ? place - 1 : piece.count - 1]);
    }
    piece.first = first;
    piece.count = std::ssize(arranged_) - first;
  }
  order_.swap(arranged_);
}

std::span<const std::int64_t> BatchPlan::Indices(std::int64_t step) const {
  const Piece& piece = pieces_[static_cast<std::size_t>(step)];
  return {order_.data() + piece.first, static_cast<std::size_t>(piece.count)};
}

std::span<const std::int64_t> BatchPlan::Partners(std::int64_t step) const {
  if (partners_.empty()) return {};
  const Piece& piece = pieces_[static_cast<std::size_t>(step)];
  return {partners_.data() + piece.first, static_cast<std::size_t>(piece.count)};
}

}  // namespace tenon
