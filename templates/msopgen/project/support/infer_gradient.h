// Shape and type rule of the operator behind a gradient, made of the rule of the operator itself.
#pragma once

#include "support/gradient.h"
#include "support/infer.h"

namespace support {

// Checks the node of the gradient of `op` and sets its outputs.
inline void InferGradient(const sdk::Infer& node, const tenon_operator_def& op, const Signature& forward,
                          sdk::Table<uint32_t> differentiable) {
  const uint32_t count = node.input_count(), fixed = forward.fixed_outputs + forward.fixed_inputs;
  const uint32_t dynamic = forward.dynamic_outputs + forward.dynamic_inputs, share = Share(count, fixed, dynamic);
  if (dynamic > 0 && count != fixed + share * dynamic)
    node.Fail(TENON_INVALID_ARGUMENT, "The gradient has ", count, " inputs; it needs ", fixed,
              " and an equal number for each of ", dynamic, " dynamic operands.");
  std::vector<tenon_gradient_source> sources;
  const auto add = [&](tenon_gradient_source (*from)(uint32_t), uint32_t first, uint32_t more) {
    for (uint32_t i = first; i < first + more; ++i) sources.push_back(from(i));
  };
  add(&sdk::FromOutputGrad, 0, forward.fixed_outputs);
  add(&sdk::FromInput, 0, forward.fixed_inputs);
  add(&sdk::FromOutputGrad, forward.fixed_outputs, share * forward.dynamic_outputs);
  add(&sdk::FromInput, forward.fixed_inputs, share * forward.dynamic_inputs);
  const std::vector<uint32_t> targets = Targets(forward, differentiable, share);
  sdk::InferGradient(node, op,
                     sdk::GradientPairing{{sources.data(), sources.size()}, {targets.data(), targets.size()}});
}

}  // namespace support
