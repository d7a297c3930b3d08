#pragma once

#include <string>
#include <vector>

#include "core/data/loader.h"
#include "core/exec/variables.h"

namespace tenon {

// What to look at first when a loss is not finite: samples, labels, then parameters and running statistics. An
// OUT_OF_RANGE error names the first that holds such a number; OK when none does and an operator must have made it.
Status FindNonFiniteInput(const Batch& batch, const std::vector<std::string>& parameters,
                          const exec::Variables& variables);

// "training step 7 (the loss is not a number)"
std::string DescribeNonFiniteStep(std::int64_t step, double loss);

}  // namespace tenon
