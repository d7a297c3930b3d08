#include "core/train/loss_scaler.h"

#include <algorithm>

namespace tenon {

using Kind = LossScaleConfig::Kind;

bool ScalesLoss(const AmpConfig& amp) {
  if (!amp.on() || amp.loss_scale.kind == Kind::kNone) return false;
  return amp.loss_scale.kind != Kind::kAuto || amp.dtype == AmpDType::kFP16;
}

LossScaler::LossScaler(const AmpConfig& amp) : config_(amp.loss_scale), on_(ScalesLoss(amp)) {
  dynamic_ = on_ && config_.kind != Kind::kFixed;
  state_.scale = on_ ? config_.scale : 1;
}

Status LossScaler::Update(bool overflowed) {
  if (!on_) return {};
  if (overflowed) {
    ++state_.skipped_steps;
    ++in_a_row_;
    state_.good_steps = 0;
    if (in_a_row_ >= config_.limit)
      return Error(
          Code::kAborted,
          "The gradients of {} steps in a row were not finite, the last with a loss scale of {}. The run cannot "
          "recover: lower the learning rate, keep layers in float32 (amp.keep), or use amp: bf16.",
          in_a_row_, state_.scale);
    if (dynamic_) state_.scale = std::max(state_.scale / config_.factor, 1.0);
    return {};
  }
  in_a_row_ = 0;
  ++state_.good_steps;
  if (dynamic_ && state_.good_steps >= config_.window) {
    state_.scale = std::min(state_.scale * config_.factor, kMostScale);
    state_.good_steps = 0;
  }
  return {};
}

}  // namespace tenon
