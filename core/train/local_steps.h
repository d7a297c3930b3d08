#pragma once

#include <cstdint>

#include "core/train/run_ranks.h"
#include "core/train/step_runner.h"

namespace tenon {

// Ranks that update alone and meet every few steps (`parallel.sync.every` above 1): then all take the mean of their parameters,
// running statistics and optimiser states, so that they are equal again. What is evaluated or saved is always equal.
class LocalSteps {
 public:
  explicit LocalSteps(std::int64_t every) : every_(every) {}

  bool Due(std::int64_t global_step) const { return global_step % every_ == 0; }

  // What the ranks have seen since they met last.
  struct Seen {
    double loss = 0, weight = 0;  // of this rank's steps; the loss weighted
    double stop = 0;              // was it asked to stop?
  };
  // A step of this rank alone.
  void Note(double loss, double weight) {
    seen_.loss += loss * weight;
    seen_.weight += weight;
  }
  // All ranks meet; what all have seen. Does nothing and gives nothing when no step was done since they met.
  Result<Seen> Meet(RunRanks& ranks, StepRunner& runner, bool stop, std::int64_t global_step);

 private:
  const std::int64_t every_;
  Seen seen_;
  std::int64_t met_at_ = -1;
};

}  // namespace tenon
