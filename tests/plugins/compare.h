// A call through the kernels of the plugin under test against the reference of the operator in double precision.
#pragma once

#include <string>
#include <vector>

#include "tests/support/op_case.h"

namespace tenon::testing {

// Results agree to `tolerance` times the greatest value of each output. Returns the expected values.
std::vector<Tensor> CompareWithReference(OpCall call, double tolerance, const std::string& what);

}  // namespace tenon::testing
