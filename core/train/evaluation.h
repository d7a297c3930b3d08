#pragma once

#include <cstdint>
#include <optional>

#include "core/comm/communicator.h"
#include "core/data/loader.h"
#include "core/train/metric_set.h"
#include "core/train/step_runner.h"

namespace tenon {

// What is measured in the evaluations of a run.
struct MetricPlan {
  std::vector<std::string> names;
  std::int64_t classes = 0;             // of the network's output; 0: its labels are values
  std::optional<std::int64_t> ignored;  // label that does not count
};

// The metrics of a run with this loss over all samples of a loader, in its order. With `ranks`, which may be null, each has whole batches of its
// own, and all get the metrics over the samples of all.
Result<MetricSet> EvaluateAll(StepRunner& runner, Loader& loader, const LossConfig& loss, const MetricPlan& plan,
                              Communicator* ranks);

// Adds up what the ranks have measured, in the order of the ranks: the same on all, and the same in each run.
Status SumOverRanks(Communicator& ranks, MetricSet* set);

}  // namespace tenon
