#pragma once

#include "core/data/loader.h"
#include "core/train/metric_set.h"
#include "core/train/step_runner.h"

namespace tenon {

// The metrics of a run with this loss over all samples of a loader, in its order.
Result<MetricSet> EvaluateAll(StepRunner& runner, Loader& loader, const LossConfig& loss,
                              const std::vector<std::string>& metrics);

}  // namespace tenon
