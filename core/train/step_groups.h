#pragma once

#include <algorithm>
#include <cstdint>

#include "core/data/loader.h"

namespace tenon {

// Which batches of an epoch make a step: `batches` in a row, fewer at the end of the epoch.
class StepGroups {
 public:
  StepGroups() = default;
  StepGroups(const Loader& loader, std::int64_t batches)
      : batches_(batches), batches_per_epoch_(loader.steps_per_epoch()) {}

  std::int64_t steps_per_epoch() const { return (batches_per_epoch_ + batches_ - 1) / batches_; }
  std::int64_t first_batch(std::int64_t step) const { return step * batches_; }
  std::int64_t batches_of(std::int64_t step) const {
    return std::min(batches_, batches_per_epoch_ - first_batch(step));
  }
  // Of batch `index` of the step that is step `global_step` of the run: no two batches have the same.
  std::int64_t position(std::int64_t global_step, std::int64_t index) const { return global_step * batches_ + index; }

 private:
  std::int64_t batches_ = 1, batches_per_epoch_ = 0;
};

}  // namespace tenon
