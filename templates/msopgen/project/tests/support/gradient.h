// Runs the gradient builder of an operator; the nodes that it adds are computed as they come.
#pragma once

#include <stdexcept>

#include "tests/support/library.h"

namespace testing {

// The builder uses operators that only Tenon has.
struct NeedsTenon : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Gradient of every input, not present where there is none. All gradients of outputs are given; `needed` tells which
// inputs want one.
std::vector<Tensor> RunGradient(const Library& library, const tenon_operator_def& definition,
                                const AttributeList& attributes, const std::vector<Tensor>& inputs,
                                const std::vector<Tensor>& outputs, const std::vector<Tensor>& output_gradients,
                                const std::vector<bool>& needed);

}  // namespace testing
