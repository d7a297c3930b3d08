// The gradient of an operator is one node of its backward operator: inputs are the gradients of all outputs, then all
// forward inputs; outputs are the gradients of the inputs that can have one.
#pragma once

#include <algorithm>
#include <vector>

#include "support/arrays.h"
#include "support/signature.h"

namespace support {

// Inputs of the operator whose gradients the outputs are, when each dynamic operand has so many.
inline std::vector<uint32_t> Targets(const Signature& forward, sdk::Table<uint32_t> differentiable, uint32_t share) {
  std::vector<uint32_t> targets;
  for (uint64_t k = 0; k < differentiable.count; ++k) {
    const uint32_t input = differentiable.first[k];
    if (input < forward.fixed_inputs) {
      targets.push_back(input);
    } else {
      for (uint32_t i = 0; i < share; ++i)
        targets.push_back(forward.fixed_inputs + (input - forward.fixed_inputs) * share + i);
    }
  }
  return targets;
}

// Adds the node and sets the gradient of each input that needs one. `attributes` are the names that both share.
inline void EmitGradient(const tenon_gradient_api* api, tenon_grad* grad, std::string_view domain,
                         std::string_view backward, const Signature& forward, sdk::Table<uint32_t> differentiable,
                         const std::vector<std::string_view>& attributes) {
  const auto check = [](int32_t code) {
    if (code != TENON_OK) throw sdk::Failure(code);
  };
  const uint32_t given = api->input_count(grad), outputs = api->output_count(grad);
  const uint32_t share = Share(given, forward.fixed_inputs, forward.dynamic_inputs);
  const uint32_t dynamic_outputs =
      forward.dynamic_outputs * Share(outputs, forward.fixed_outputs, forward.dynamic_outputs);
  std::vector<uint64_t> operands;
  for (uint32_t i = 0; i < forward.fixed_outputs; ++i) operands.push_back(i < outputs ? api->output_grad(grad, i) : 0);
  for (uint32_t i = 0; i < forward.fixed_inputs; ++i) operands.push_back(i < given ? api->input(grad, i) : 0);
  for (uint32_t i = 0; i < dynamic_outputs; ++i) {
    uint64_t incoming = api->output_grad(grad, forward.fixed_outputs + i);
    if (incoming == 0) {  // nobody asked for it: a zero of its shape
      const uint64_t output = api->output(grad, forward.fixed_outputs + i);
      const uint64_t both[] = {output, output};
      check(
          api->op(grad, sdk::Str(""), sdk::Str("Sub"), 0, nullptr, 0, sizeof(tenon_attribute), both, 2, &incoming, 1));
    }
    operands.push_back(incoming);
  }
  for (uint32_t i = forward.fixed_inputs; i < given; ++i) operands.push_back(api->input(grad, i));

  std::vector<tenon_attribute> values;
  for (const std::string_view name : attributes) {
    const tenon_attribute* found = nullptr;
    if (api->attribute(grad, sdk::Str(name), &found) == TENON_OK) values.push_back(*found);
  }
  const std::vector<uint32_t> targets = Targets(forward, differentiable, share);
  std::vector<uint64_t> gradients(targets.size());
  check(api->op(grad, sdk::Str(domain), sdk::Str(backward), 0, values.data(), static_cast<uint32_t>(values.size()),
                sizeof(tenon_attribute), operands.data(), static_cast<uint32_t>(operands.size()), gradients.data(),
                static_cast<uint32_t>(gradients.size())));
  for (size_t k = 0; k < targets.size(); ++k) {
    if (targets[k] < given && api->input(grad, targets[k]) != 0 && api->needs_grad(grad, targets[k]) != 0)
      check(api->set_input_grad(grad, targets[k], gradients[k]));
  }
}

// Operands of the backward operator by their role. din has one entry per forward input, not present where nobody wants
// its gradient.
template <class T>
struct BackwardArrays {
  Arrays<T> dout, in, din;
};

template <class T>
BackwardArrays<T> Sort(const Signature& forward, sdk::Table<uint32_t> differentiable, const Arrays<T>& inputs,
                       const Arrays<T>& outputs) {
  const uint32_t fixed = forward.fixed_outputs + forward.fixed_inputs;
  const uint32_t share =
      Share(static_cast<uint32_t>(inputs.size()), fixed, forward.dynamic_outputs + forward.dynamic_inputs);
  const auto at = [&](uint32_t index) { return index < inputs.size() ? inputs[index] : Array<T>(); };
  BackwardArrays<T> sorted;
  for (uint32_t i = 0; i < forward.fixed_outputs; ++i) sorted.dout.push_back(at(i));
  for (uint32_t i = 0; i < forward.dynamic_outputs * share; ++i) sorted.dout.push_back(at(fixed + i));
  for (uint32_t i = 0; i < forward.fixed_inputs; ++i) sorted.in.push_back(at(forward.fixed_outputs + i));
  for (uint32_t i = fixed + forward.dynamic_outputs * share; i < inputs.size(); ++i) sorted.in.push_back(inputs[i]);
  sorted.din.resize(sorted.in.size());
  size_t next = 0;
  for (uint64_t k = 0; k < differentiable.count; ++k) {
    const uint32_t input = differentiable.first[k];
    const bool dynamic = input >= forward.fixed_inputs;
    const uint32_t first = dynamic ? forward.fixed_inputs + (input - forward.fixed_inputs) * share : input;
    for (uint32_t i = 0; i < (dynamic ? share : 1); ++i, ++next) {
      if (next < outputs.size() && sorted.in[first + i].present) sorted.din[first + i] = outputs[next];
    }
  }
  return sorted;
}

}  // namespace support
