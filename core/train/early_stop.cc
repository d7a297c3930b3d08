#include "core/train/early_stop.h"

#include <cmath>

#include "core/train/metric_name.h"

namespace tenon {

EarlyStop::EarlyStop(const EarlyStopConfig& config)
    : config_(config), lower_(config.mode == "min" || (config.mode == "auto" && LowerIsBetter(config.metric))) {}

bool EarlyStop::Better(double value) const {
  if (!std::isfinite(value)) return false;
  if (!state_.best) return true;
  return lower_ ? value < *state_.best - config_.min_delta : value > *state_.best + config_.min_delta;
}

void EarlyStop::Observe(double value, std::int64_t epoch) {
  state_.last_epoch = epoch;
  ++state_.without_better;
  if (!Better(value)) return;
  state_.best = value;
  state_.best_epoch = epoch;
  state_.without_better = 0;
}

RunSummary::EarlyStop EarlyStop::Summary() const {
  return {config_.metric, config_.patience,  config_.min_delta, lower_ ? "min" : "max",
          state_.best,    state_.best_epoch, reached()};
}

}  // namespace tenon
