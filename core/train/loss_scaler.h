#pragma once

#include <cstdint>

#include "core/base/status.h"
#include "core/train/amp_config.h"
#include "core/train/checkpoint_state.h"

namespace tenon {

// Does a run multiply its loss before it takes gradients?
bool ScalesLoss(const AmpConfig& amp);

// The scale of the loss from step to step. Dynamic: divided by the factor after a step whose gradients overflowed, down to
// 1; multiplied by it after `window` steps without. Fixed: always the same.
class LossScaler {
 public:
  // Largest scale: still far from the largest float32.
  static constexpr double kMostScale = 1152921504606846976.0;  // 2^60

  LossScaler() = default;  // no scaling
  explicit LossScaler(const AmpConfig& amp);

  bool on() const { return on_; }
  double scale() const { return state_.scale; }
  // After a step. Too many steps in a row that overflowed are an error.
  Status Update(bool overflowed);

  const RunState::Scaler& state() const { return state_; }
  void Restore(const RunState::Scaler& state) { state_ = state; }

 private:
  LossScaleConfig config_;
  bool on_ = false, dynamic_ = false;
  RunState::Scaler state_;
  std::int64_t in_a_row_ = 0;
};

}  // namespace tenon
