#pragma once

#include <span>
#include <vector>

#include "core/base/status.h"
#include "core/ops/attribute.h"
#include "core/tensor/dim.h"

namespace tenon {

// Type and (possibly symbolic) shape of one value.
struct ValueType {
  DType dtype = DType::kUndefined;
  SymShape shape;
  bool defined() const { return dtype != DType::kUndefined; }
  bool operator==(const ValueType&) const = default;
  std::string ToString() const;  // "f32[N,3]"
};

// What a shape rule sees and fills. Absent optional inputs have an undefined dtype. The definition's type constraints and
// attributes have been checked already, so a rule only relates shapes. A rule is pure and may run with symbolic dims.
class InferContext {
 public:
  InferContext(const Attributes& attrs, std::span<const ValueType> inputs, std::span<const Tensor* const> constants,
               std::size_t outputs)
      : attrs_(attrs), inputs_(inputs), constants_(constants), outputs_(outputs) {}

  const Attributes& attrs() const { return attrs_; }
  int num_inputs() const { return static_cast<int>(inputs_.size()); }
  int num_outputs() const { return static_cast<int>(outputs_.size()); }
  bool has_input(int i) const { return i < num_inputs() && inputs_[static_cast<std::size_t>(i)].defined(); }
  DType dtype(int i) const { return inputs_[static_cast<std::size_t>(i)].dtype; }
  const SymShape& shape(int i) const { return inputs_[static_cast<std::size_t>(i)].shape; }
  // Values of input i when they are known at compile time, else null; no guessing.
  const Tensor* constant(int i) const {
    return static_cast<std::size_t>(i) < constants_.size() ? constants_[static_cast<std::size_t>(i)] : nullptr;
  }
  // As constant(), converted to int64; an error naming the input's index when it is not known.
  Result<std::vector<std::int64_t>> ConstantInts(int i) const;

  // Ignored when the node does not have output i (optional outputs).
  void SetOutput(int i, DType dtype, const SymShape& shape) {
    if (i < num_outputs()) outputs_[static_cast<std::size_t>(i)] = {dtype, shape};
  }
  const std::vector<ValueType>& outputs() const { return outputs_; }

 private:
  const Attributes& attrs_;
  std::span<const ValueType> inputs_;
  std::span<const Tensor* const> constants_;
  std::vector<ValueType> outputs_;
};

// Frequent rules.
Status InferSameAsFirst(InferContext& context);    // every output: dtype and shape of input 0
Status InferBroadcast(InferContext& context);      // output 0: dtype of input 0, broadcast of all inputs
Status InferBroadcastBool(InferContext& context);  // output 0: bool, broadcast of all inputs

}  // namespace tenon
