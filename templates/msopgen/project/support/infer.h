// Parts of shape and type rules. All of them work on sizes that are not known yet.
#pragma once

#include <algorithm>
#include <vector>

#include "support/signature.h"

namespace support {

// The combination that the node's inputs have; fails with the ones that there are. When several have the same inputs,
// the one whose first output has the type `wanted` counts.
inline uint32_t CombinationOf(const sdk::Infer& node, const Signature& signature, int64_t wanted = 0) {
  const int32_t row = FindCombination(
      signature, node.input_count(), [&](uint32_t i) { return node.InputDType(i); }, wanted > 0 ? 1 : 0,
      [&](uint32_t) { return static_cast<uint32_t>(wanted); });
  if (row >= 0) return static_cast<uint32_t>(row);
  std::string given;
  for (uint32_t i = 0; i < node.input_count(); ++i) {
    given += i == 0 ? "" : ", ";
    given += node.has_input(i) ? sdk::DTypeName(node.InputDType(i)) : "absent";
  }
  if (wanted > 0)
    node.Fail(TENON_INVALID_ARGUMENT, "Inputs of types (", std::string_view(given), ") give no output of type ",
              sdk::DTypeName(static_cast<uint32_t>(wanted)), "; input types are ",
              std::string_view(InputTypes(signature)), ".");
  node.Fail(TENON_INVALID_ARGUMENT, "The inputs have the types (", std::string_view(given), "); possible are ",
            std::string_view(InputTypes(signature)), ".");
}

inline uint32_t OutputType(const sdk::Infer& node, const Signature& signature, uint32_t combination, uint32_t output) {
  return signature.output_type(
      combination, Declared(output, node.output_count(), signature.fixed_outputs, signature.dynamic_outputs));
}

// Fails when the dynamic operands do not come in equal numbers, or outputs are not as many as inputs.
inline uint32_t CheckedShare(const sdk::Infer& node, const Signature& signature) {
  const uint32_t count = node.input_count();
  if (signature.dynamic_inputs == 0) return 0;
  if (count < signature.fixed_inputs || (count - signature.fixed_inputs) % signature.dynamic_inputs != 0)
    node.Fail(TENON_INVALID_ARGUMENT, "The operator has ", count, " inputs; it needs ", signature.fixed_inputs,
              " and an equal number for each of ", signature.dynamic_inputs, " dynamic ones.");
  const uint32_t share = Share(count, signature.fixed_inputs, signature.dynamic_inputs);
  if (signature.dynamic_outputs > 0 &&
      node.output_count() != signature.fixed_outputs + share * signature.dynamic_outputs)
    node.Fail(TENON_INVALID_ARGUMENT, "The operator has ", node.output_count(), " outputs; for ", share,
              " operands in each dynamic input it needs ", signature.fixed_outputs + share * signature.dynamic_outputs,
              ".");
  return share;
}

// Dims of one value; rank -1 when it is not known.
struct InferredDims {
  int32_t rank = 0;
  std::vector<tenon_dim> dims;
};

inline InferredDims DimsOfInput(const sdk::Infer& node, uint32_t index) {
  InferredDims all{node.InputRank(index), {}};
  for (int32_t axis = 0; axis < all.rank; ++axis) all.dims.push_back(node.InputDim(index, axis));
  return all;
}

// Common shape of some inputs, absent ones left out.
inline InferredDims Broadcast(const sdk::Infer& node, const std::vector<uint32_t>& inputs) {
  InferredDims result;
  for (const uint32_t index : inputs) {
    if (!node.has_input(index)) continue;
    const InferredDims own = DimsOfInput(node, index);
    if (own.rank < 0) return {-1, {}};
    const size_t more = own.dims.size() > result.dims.size() ? own.dims.size() - result.dims.size() : 0;
    result.dims.insert(result.dims.begin(), more, sdk::Known(1));
    for (size_t k = 0; k < own.dims.size(); ++k) {
      tenon_dim& dim = result.dims[result.dims.size() - 1 - k];
      dim = node.Broadcast(dim, own.dims[own.dims.size() - 1 - k]);
    }
  }
  result.rank = static_cast<int32_t>(result.dims.size());
  return result;
}

// Inputs that output number `output` is computed of, element by element.
inline std::vector<uint32_t> InputsOfOutput(const sdk::Infer& node, const Signature& signature, uint32_t output) {
  std::vector<uint32_t> inputs;
  const uint32_t share = CheckedShare(node, signature);
  for (uint32_t i = 0; i < node.input_count(); ++i) {
    const bool dynamic = i >= signature.fixed_inputs;
    if (dynamic && signature.dynamic_outputs > 0 &&
        (i - signature.fixed_inputs) % share != (output - signature.fixed_outputs) % share)
      continue;
    inputs.push_back(i);
  }
  return inputs;
}

inline void InferElementwise(const sdk::Infer& node, const Signature& signature, uint32_t combination) {
  CheckedShare(node, signature);
  for (uint32_t output = 0; output < node.output_count(); ++output) {
    const InferredDims dims = Broadcast(node, InputsOfOutput(node, signature, output));
    node.SetOutput(output, OutputType(node, signature, combination, output), dims.rank, dims.dims.data());
  }
}

inline void InferReduction(const sdk::Infer& node, const Signature& signature, uint32_t combination,
                           const std::vector<int64_t>& axes, bool keepdims) {
  const uint32_t type = OutputType(node, signature, combination, 0);
  const InferredDims x = DimsOfInput(node, 0);
  if (x.rank < 0) return node.SetOutput(0, type, -1, nullptr);
  std::vector<bool> reduced(x.dims.size(), axes.empty());
  for (const int64_t axis : axes) {
    const int64_t place = axis < 0 ? axis + x.rank : axis;
    if (place < 0 || place >= x.rank)
      node.Fail(TENON_INVALID_ARGUMENT, "Axis ", axis, " does not exist in an input of rank ", x.rank, ".");
    reduced[static_cast<size_t>(place)] = true;
  }
  std::vector<tenon_dim> dims;
  for (size_t axis = 0; axis < x.dims.size(); ++axis) {
    if (!reduced[axis]) dims.push_back(x.dims[axis]);
    if (reduced[axis] && keepdims) dims.push_back(sdk::Known(1));
  }
  node.SetOutput(0, type, static_cast<int32_t>(dims.size()), dims.data());
}

}  // namespace support
