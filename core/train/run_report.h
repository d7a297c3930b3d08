#pragma once

#include <string>
#include <vector>

#include "core/data/open_data.h"
#include "core/exec/runtime.h"
#include "core/train/run_checks.h"
#include "core/train/step_runner.h"

namespace tenon {

// What the run file asked for.
void AddConfig(RunSummary* summary, const RunConfig& config);
void AddPlan(RunSummary* summary, const ParameterPlan& plan);
// What device and plugins did, and the memory of the process.
void AddRuntime(RunSummary* summary, const RunConfig& config, exec::Runtime& runtime);
// Kernels and plans, and the SHA-256 of the parameters.
void AddRunner(RunSummary* summary, StepRunner& runner);

// What a dry run tells of a prepared runner.
std::vector<std::string> DescribePlan(const RunConfig& config, const RunSummary& summary, exec::Runtime& runtime,
                                      StepRunner& runner, std::int64_t steps_per_epoch, std::int64_t total_steps);

}  // namespace tenon
