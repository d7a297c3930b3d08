#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/data/loader.h"
#include "core/train/step_runner.h"

namespace tenon {

// Means over all samples of a loader, in its order: "loss" and, for class labels, "accuracy" (fraction whose largest
// output is at the label; the first of equal ones counts).
Result<std::map<std::string, double>> EvaluateAll(StepRunner& runner, Loader& loader,
                                                  const std::vector<std::string>& metrics);

}  // namespace tenon
