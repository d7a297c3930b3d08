#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/data/open_data.h"
#include "core/train/evaluation.h"
#include "core/train/network.h"
#include "core/train/parameter_plan.h"
#include "core/train/run_config.h"

namespace tenon {

// What is known of a run before it has a device.
struct RunFacts {
  ParameterPlan plan;
  std::map<std::string, InitialTensor> variables;  // parameters and running statistics
  MetricPlan metrics;                              // of its evaluations
};

// Network, loss, labels, metrics and patterns against the data, for every batch size of an epoch and of the evaluations: shapes, classes that the
// network does not have, batches too small to train on. The loaders give the batches;
// null ones are left out.
Result<RunFacts> CheckRun(const RunConfig& config, const Network& network, const DataSource& data, const Loader& train,
                          const std::vector<const Loader*>& evaluations);

}  // namespace tenon
