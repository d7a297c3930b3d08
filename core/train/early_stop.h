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
  bool reached() const { return without_better_ >= config_.patience; }

  // What a checkpoint holds.
  struct State {
    std::optional<double> best;
    std::int64_t best_epoch = 0;
    std::int64_t without_better = 0;
  };
  State state() const { return {best_, best_epoch_, without_better_}; }
  void Restore(const State& state);
  RunSummary::EarlyStop Summary() const;

 private:
  bool Better(double value) const;

  EarlyStopConfig config_;
  bool lower_ = true;
  std::optional<double> best_;
  std::int64_t best_epoch_ = 0, without_better_ = 0;
};

}  // namespace tenon
