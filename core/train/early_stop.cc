#include "core/train/early_stop.h"

#include <cmath>

#include "core/train/metric_name.h"

namespace tenon {

EarlyStop::EarlyStop(const EarlyStopConfig& config)
    : config_(config), lower_(config.mode == "min" || (config.mode == "auto" && LowerIsBetter(config.metric))) {}

bool EarlyStop::Better(double value) const {
  if (!std::isfinite(value)) return false;
  if (!best_) return true;
  return lower_ ? value < *best_ - config_.min_delta : value > *best_ + config_.min_delta;
}

void EarlyStop::Observe(double value, std::int64_t epoch) {
  if (!Better(value)) {
    ++without_better_;
    return;
  }
  best_ = value;
  best_epoch_ = epoch;
  without_better_ = 0;
}

void EarlyStop::Restore(const State& state) {
  best_ = state.best;
  best_epoch_ = state.best_epoch;
  without_better_ = state.without_better;
}

RunSummary::EarlyStop EarlyStop::Summary() const {
  return {config_.metric, config_.patience, config_.min_delta, lower_ ? "min" : "max", best_, best_epoch_, reached()};
}

}  // namespace tenon
