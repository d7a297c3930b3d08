#include "core/train/step_batches.h"

#include <algorithm>

#include "core/train/loss.h"

namespace tenon {

Status StepBatches::Read(Loader& loader, std::int64_t count, const LossConfig& loss) {
  parts_.clear();
  count_ = count;
  samples_ = samples_of_all_ = 0;
  weight_ = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    TENON_ASSIGN(const Batch* batch, loader.Next());
    if (batch == nullptr) return Error(Code::kInternal, "Epoch {} ends before its last step.", loader.epoch() + 1);
    samples_ += batch->count;
    samples_of_all_ += batch->count_of_all;
    const double weight = CountedWeight(loss, batch->labels);
    if (weight == 0) continue;
    weight_ += weight;
    Part& part = parts_.emplace_back(Part{*batch, i, weight});
    if (count == 1) break;
    part.batch.samples = batch->samples.Clone();
    part.batch.labels = batch->labels.Clone();
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
  const auto found = std::find_if(parts_.begin(), parts_.end(), [&](const Part& part) { return part.index == index; });
  return found == parts_.end() ? nullptr : &*found;
}

}  // namespace tenon
