// Shape and type rule of the operator behind a gradient, made of the rule of the operator itself.
#pragma once

#include <vector>

#include "support/infer.h"

namespace support {

// The node of a gradient (its inputs are the gradients of all outputs, then all inputs of the operator) as the node of the
// operator: the operator's rule reads the inputs, and what it says of the outputs is kept.
class ForwardView {
 public:
  ForwardView(const sdk::Infer& node, const Signature& forward) : node_(node), forward_(forward) {
    const uint32_t fixed = forward.fixed_outputs + forward.fixed_inputs, count = node.input_count();
    const uint32_t dynamic = forward.dynamic_outputs + forward.dynamic_inputs;
    share_ = Share(count, fixed, dynamic);
    if (count != fixed + share_ * dynamic)
      node.Fail(TENON_INVALID_ARGUMENT, "The gradient has ", count, " inputs; it needs ", fixed,
                " and an equal number for each of ", dynamic, " dynamic operands.");
    outputs_.resize(forward.fixed_outputs + share_ * forward.dynamic_outputs);
    FillTable();
  }

  struct Output {
    bool given = false;
    uint32_t dtype = 0;
    int32_t rank = 0;
    std::vector<tenon_dim> dims;
  };
  const std::vector<Output>& outputs() const { return outputs_; }
  // Where the gradient's node has the gradient of an output.
  uint32_t PlaceOfOutput(uint32_t output) const {
    return output < forward_.fixed_outputs ? output : forward_.fixed_inputs + output;
  }

  template <class Rule>
  void Run(Rule&& rule) {
    rule(sdk::Infer(&table_, reinterpret_cast<tenon_infer*>(this)));
  }

 private:
  static ForwardView& Of(tenon_infer* handle) { return *reinterpret_cast<ForwardView*>(handle); }
  static const tenon_infer_api& Api(tenon_infer* handle) { return *Of(handle).node_.api(); }
  static tenon_infer* Raw(tenon_infer* handle) { return Of(handle).node_.raw(); }
  static uint32_t PlaceOfInput(tenon_infer* handle, uint32_t input) {
    const ForwardView& view = Of(handle);
    const uint32_t dynamic = input < view.forward_.fixed_inputs ? 0 : view.share_ * view.forward_.dynamic_outputs;
    return view.forward_.fixed_outputs + dynamic + input;
  }

  static uint32_t InputCount(tenon_infer* handle) {
    return Api(handle).input_count(Raw(handle)) - static_cast<uint32_t>(Of(handle).outputs_.size());
  }
  static uint32_t OutputCount(tenon_infer* handle) { return static_cast<uint32_t>(Of(handle).outputs_.size()); }
  static uint32_t InputDType(tenon_infer* handle, uint32_t index) {
    return Api(handle).input_dtype(Raw(handle), PlaceOfInput(handle, index));
  }
  static int32_t InputRank(tenon_infer* handle, uint32_t index) {
    return Api(handle).input_rank(Raw(handle), PlaceOfInput(handle, index));
  }
  static int32_t InputDim(tenon_infer* handle, uint32_t index, uint32_t axis, tenon_dim* out) {
    return Api(handle).input_dim(Raw(handle), PlaceOfInput(handle, index), axis, out);
  }
  static int32_t ConstInput(tenon_infer* handle, uint32_t index, tenon_tensor* out) {
    return Api(handle).const_input(Raw(handle), PlaceOfInput(handle, index), out);
  }
  static int32_t Attribute(tenon_infer* handle, tenon_str name, const tenon_attribute** out) {
    return Api(handle).attribute(Raw(handle), name, out);
  }
  static int32_t DimOp(tenon_infer* handle, uint32_t op, tenon_dim a, tenon_dim b, tenon_dim* out) {
    return Api(handle).dim_op(Raw(handle), op, a, b, out);
  }
  static int32_t DimFresh(tenon_infer* handle, int64_t lower, tenon_dim upper, tenon_dim* out) {
    return Api(handle).dim_fresh(Raw(handle), lower, upper, out);
  }
  static int32_t RequireEqual(tenon_infer* handle, tenon_dim a, tenon_dim b, tenon_str message) {
    return Api(handle).require_equal(Raw(handle), a, b, message);
  }
  static int32_t RequireDivisible(tenon_infer* handle, tenon_dim dim, int64_t divisor, tenon_str message) {
    return Api(handle).require_divisible(Raw(handle), dim, divisor, message);
  }
  static int32_t SetOutput(tenon_infer* handle, uint32_t index, uint32_t dtype, int32_t rank, const tenon_dim* dims) {
    ForwardView& view = Of(handle);
    if (index >= view.outputs_.size()) return TENON_OUT_OF_RANGE;
    view.outputs_[index] = {true, dtype, rank, std::vector<tenon_dim>(dims, dims + (rank > 0 ? rank : 0))};
    return TENON_OK;
  }
  static void Fail(tenon_infer* handle, int32_t code, tenon_str message) {
    Api(handle).fail(Raw(handle), code, message);
  }
  static tenon_str NodeName(tenon_infer* handle) { return Api(handle).node_name(Raw(handle)); }

  void FillTable() {
    table_.input_count = &InputCount;
    table_.output_count = &OutputCount;
    table_.input_dtype = &InputDType;
    table_.input_rank = &InputRank;
    table_.input_dim = &InputDim;
    table_.const_input = &ConstInput;
    table_.attribute = &Attribute;
    table_.dim_op = &DimOp;
    table_.dim_fresh = &DimFresh;
    table_.require_equal = &RequireEqual;
    table_.require_divisible = &RequireDivisible;
    table_.set_output = &SetOutput;
    table_.fail = &Fail;
    table_.node_name = &NodeName;
  }

  const sdk::Infer& node_;
  const Signature& forward_;
  uint32_t share_ = 0;
  tenon_infer_api table_ = TENON_INIT(tenon_infer_api);
  std::vector<Output> outputs_;
};

// Fails unless the gradients of the outputs have the types and shapes that `rule` gives the outputs: kernels trust that.
template <class Rule>
void CheckGradientsOfOutputs(const sdk::Infer& node, const Signature& forward, Rule&& rule) {
  ForwardView view(node, forward);
  view.Run(rule);
  for (uint32_t output = 0; output < view.outputs().size(); ++output) {
    const ForwardView::Output& expected = view.outputs()[output];
    const uint32_t place = view.PlaceOfOutput(output);
    if (!expected.given || !node.has_input(place)) continue;
    if (node.InputDType(place) != expected.dtype)
      node.Fail(TENON_INVALID_ARGUMENT, "The gradient of output ", output, " is ",
                sdk::DTypeName(node.InputDType(place)), "; the output is ", sdk::DTypeName(expected.dtype), ".");
    const int32_t rank = node.InputRank(place);
    if (rank < 0 || expected.rank < 0) continue;
    if (rank != expected.rank)
      node.Fail(TENON_INVALID_ARGUMENT, "The gradient of output ", output, " has rank ", rank, "; the output has rank ",
                expected.rank, ".");
    for (int32_t axis = 0; axis < rank; ++axis) {
      const sdk::TextBuffer text("The gradient of output ", output, " has the size of the output on axis ", axis, ".");
      node.RequireEqual(node.InputDim(place, axis), expected.dims[static_cast<size_t>(axis)], text.View());
    }
  }
}

// The gradients of the inputs have their shapes and types; that of an absent one is one zero.
template <class Rule>
void InferGradient(const sdk::Infer& node, const Signature& forward, sdk::Table<uint32_t> differentiable, Rule&& rule) {
  CheckGradientsOfOutputs(node, forward, rule);
  const uint32_t fixed = forward.fixed_outputs + forward.fixed_inputs;
  const uint32_t share = Share(node.input_count(), fixed, forward.dynamic_outputs + forward.dynamic_inputs);
  uint32_t output = 0;
  const auto same_as = [&](uint32_t input) {
    if (output >= node.output_count()) return;
    if (node.has_input(input)) {
      node.SameAsInput(output++, input);
    } else {
      const uint32_t type = node.InputDType(0);
      node.SetOutput(output++, type == 0 ? static_cast<uint32_t>(TENON_DTYPE_F32) : type, 0, nullptr);
    }
  };
  for (uint64_t k = 0; k < differentiable.count; ++k) {
    const uint32_t input = differentiable.first[k];
    if (input < forward.fixed_inputs) {
      same_as(forward.fixed_outputs + input);
      continue;
    }
    const uint32_t list = forward.dynamic_outputs + input - forward.fixed_inputs;
    for (uint32_t i = 0; i < share; ++i) same_as(fixed + list * share + i);
  }
}

}  // namespace support
