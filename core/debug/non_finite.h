#pragma once

#include <string>

#include "core/exec/program.h"

namespace tenon {

// Watches a run for the first result that is not finite; stops it there with an ABORTED status that names node,
// operator, value and the first bad element.
class NonFiniteFinder final : public exec::StepObserver {
 public:
  Status OnResult(const graph::Node& node, int output, const std::string& value_name, const Tensor& tensor) override;
};

// Index of the first NaN or infinity of a floating-point tensor, -1 when there is none.
std::int64_t FirstNonFinite(const Tensor& tensor);

}  // namespace tenon
