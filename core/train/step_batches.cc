#include "core/train/step_batches.h"

#include <algorithm>

#include "core/train/loss.h"

namespace tenon {

namespace {

// Labels of that shape of which each counts.
Tensor LabelsThatCount(const LossConfig& loss, const Shape& shape) {
  Tensor labels(DType::kI64, shape);
  std::fill_n(labels.data<std::int64_t>(), labels.elements(), LabelThatCounts(loss));
  return labels;
}

}  // namespace

Status StepBatches::Read(Loader& loader, std::int64_t count, const LossConfig& loss, bool keep_uncounted) {
  parts_.clear();
  uncounted_.clear();
  count_ = count;
  samples_ = samples_of_all_ = 0;
  weight_ = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    TENON_ASSIGN(const Batch* batch, loader.Next());
    if (batch == nullptr) return Error(Code::kInternal, "Epoch {} ends before its last step.", loader.epoch() + 1);
    last_ = batch;
    samples_ += batch->count;
    samples_of_all_ += batch->count_of_all;
    const double weight = CountedWeight(loss, batch->labels);
    if (weight == 0 && (!keep_uncounted || batch->count == 0)) continue;
    weight_ += weight;
    Part& part = (weight == 0 ? uncounted_ : parts_).emplace_back(Part{*batch, i, weight});
    if (weight == 0) part.batch.labels = LabelsThatCount(loss, batch->labels.shape());
    if (count == 1) break;
    part.batch.samples = batch->samples.Clone();
    if (weight != 0) part.batch.labels = batch->labels.Clone();
  }
  return {};
}

std::vector<std::int64_t> StepBatches::Indexes() const {
  std::vector<std::int64_t> indexes;
  for (const Part& part : parts_) indexes.push_back(part.index);
  return indexes;
}

Result<std::vector<std::int64_t>> StepBatches::IndexesOfAll(const std::function<Status(std::span<double>)>& sum) const {
  if (count_ == 1) return std::vector<std::int64_t>{0};
  std::vector<double> ranks_with(static_cast<std::size_t>(count_), 0.0);
  for (const Part& part : parts_) ranks_with[static_cast<std::size_t>(part.index)] = 1;
  TENON_TRY(sum(ranks_with));
  std::vector<std::int64_t> indexes;
  for (std::int64_t i = 0; i < count_; ++i) {
    if (ranks_with[static_cast<std::size_t>(i)] > 0) indexes.push_back(i);
  }
  return indexes;
}

const StepBatches::Part* StepBatches::Find(std::int64_t index) const {
  for (const std::vector<Part>* of : {&parts_, &uncounted_}) {
    const auto found = std::find_if(of->begin(), of->end(), [&](const Part& part) { return part.index == index; });
    if (found != of->end()) return &*found;
  }
  return nullptr;
}

}  // namespace tenon
