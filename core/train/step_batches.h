#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/data/loader.h"
#include "core/train/run_config.h"

namespace tenon {

// The batches of one step, read ahead, because the part of the first depends on what the last one counts. A batch whose
// labels are all ignored counts nothing and is left out.
class StepBatches {
 public:
  struct Part {
    Batch batch;
    std::int64_t index = 0;  // in the step
    double weight = 1;       // what it counts (CountedWeight)
  };

  // The next `count` batches of the loader. The batch of a step of one is the loader's own, valid until its next call; those of
  // longer steps are copies. With `keep_uncounted` Find finds batches that count nothing too: of weight 0, and with labels
  // that the loss takes in place of their own, for batch norms over all ranks, which see all samples.
  Status Read(Loader& loader, std::int64_t count, const LossConfig& loss, bool keep_uncounted = false);

  const std::vector<Part>& parts() const { return parts_; }
  // The last batch of the step, whether it counts or not: the loader's own.
  const Batch& last() const { return *last_; }
  // The part of that index, or null where its batch was left out.
  const Part* Find(std::int64_t index) const;
  // The batches of the step that count something, by their index: here, and on any rank, of which one has such a batch. `sum`
  // adds each number up over the ranks.
  std::vector<std::int64_t> Indexes() const;
  Result<std::vector<std::int64_t>> IndexesOfAll(const std::function<Status(std::span<double>)>& sum) const;
  std::int64_t samples() const { return samples_; }                // of all batches read
  std::int64_t samples_of_all() const { return samples_of_all_; }  // of the step, on all ranks
  double weight() const { return weight_; }                        // what the step counts

 private:
  std::vector<Part> parts_, uncounted_;
  const Batch* last_ = nullptr;
  std::int64_t count_ = 0;  // batches read
  std::int64_t samples_ = 0, samples_of_all_ = 0;
  double weight_ = 0;
};

}  // namespace tenon
