#pragma once

#include <optional>

#include "core/train/run_summary.h"
#include "core/train/train_config.h"

namespace tenon {

// Watches a metric over the evaluations of a run.
class EarlyStop {
 public:
  explicit EarlyStop(const EarlyStopConfig& config);

  const std::string& metric() const { return config_.metric; }
  // A value that is not finite is never better.
  void Observe(double value, std::int64_t epoch);
  bool reached() const { return state_.without_better >= config_.patience; }

  // What a checkpoint holds.
  struct State {
    std::optional<double> best;
    std::int64_t best_epoch = 0, last_epoch = 0;
    std::int64_t without_better = 0;
  };
  const State& state() const { return state_; }
  void Restore(const State& state) { state_ = state; }
  RunSummary::EarlyStop Summary() const;

 private:
  bool Better(double value) const;

  EarlyStopConfig config_;
  bool lower_ = true;
  State state_;
};

}  // namespace tenon
