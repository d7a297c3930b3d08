#include "core/data/batch_plan.h"

#include <algorithm>
#include <utility>

namespace tenon {

BatchPlan::BatchPlan(std::shared_ptr<const Dataset> dataset, Sampler sampler, const Options& options)
    : dataset_(std::move(dataset)), sampler_(std::move(sampler)), options_(options), waiting_(options.buckets.size()) {}

Result<BatchPlan> BatchPlan::Create(std::shared_ptr<const Dataset> dataset, Sampler sampler, const Options& options) {
  BatchPlan plan(std::move(dataset), std::move(sampler), options);
  const std::int64_t count = plan.sampler_.count();
  TENON_INVALID_IF(count == 0, "There are no samples to load.");
  if (!options.buckets.empty()) {
    TENON_INVALID_IF(plan.sampler_.largest_count() != count || plan.sampler_.world() > 1,
                     "Length buckets go with one rank, but there are {}: ranks would run different numbers of steps.",
                     plan.sampler_.world());
    plan.sampler_.Order(0, &plan.order_);
    TENON_TRY(plan.CheckLengths());
  }
  plan.SetEpoch(0);
  plan.steps_ = static_cast<std::int64_t>(plan.pieces_.size());
  TENON_INVALID_IF(plan.steps_ == 0, "With drop_last no batch is left: there are {} samples, and a batch has {}.",
                   count, options.batch);
  for (const Piece& piece : plan.pieces_) {
    plan.samples_ += piece.count;
    plan.largest_ = std::max(plan.largest_, piece.count);
  }
  return plan;
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
}

void BatchPlan::CutOrder() {
  const std::int64_t count = static_cast<std::int64_t>(order_.size());
  for (std::int64_t first = 0; first < count; first += options_.batch) {
    Piece piece{first, std::min(options_.batch, count - first), 0};
    if (options_.drop_last && piece.count < options_.batch) break;
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
                       options_.buckets[bucket]});
    arranged_.insert(arranged_.end(), samples.begin(), samples.end());
    samples.clear();
  };
  for (const std::int64_t sample : order_) {
    const std::size_t bucket = BucketOf(sample);
    waiting_[bucket].push_back(sample);
    if (static_cast<std::int64_t>(waiting_[bucket].size()) == options_.batch) close(bucket);
  }
  for (std::size_t bucket = 0; bucket < waiting_.size(); ++bucket) {
    if (!waiting_[bucket].empty() && !options_.drop_last) close(bucket);
    waiting_[bucket].clear();
  }
  order_.swap(arranged_);
}

std::span<const std::int64_t> BatchPlan::Indices(std::int64_t step) const {
  const Piece& piece = pieces_[static_cast<std::size_t>(step)];
  return {order_.data() + piece.first, static_cast<std::size_t>(piece.count)};
}

std::int64_t BatchPlan::Length(std::int64_t step) const { return pieces_[static_cast<std::size_t>(step)].length; }

}  // namespace tenon
