// Shape rule of a backward operator, made of the rule of the operator that it belongs to.
//
//   constexpr tenon_gradient_source kSources[] = {sdk::FromOutputGrad(0), sdk::FromInput(0)};
//   constexpr tenon_paired_gradient kGradient = sdk::PairedGradient("com.vendor", "ScaleGrad", 1, kSources, kGradOf);
//   constexpr tenon_operator_def kScale =
//       sdk::OperatorBuilder("com.vendor", "Scale", 1).Inputs(..).Outputs(..).Infer(&InferScale).Paired(&kGradient);
//   sdk::OperatorBuilder("com.vendor", "ScaleGrad", 1).Inputs(..).Outputs(..).Infer(&sdk::InferGradientOf<kScale>)
//
// The operator's rule runs over the inputs that the gradient has of it and refuses what it always refuses. Gradients of
// outputs, outputs and saved values must have the types and shapes that it gives. Sizes may be symbols. The backward
// operator declares the attributes that the rule reads, and types of inputs as the operator does.
#pragma once

#include <vector>

#include "tenon/sdk/operator.h"

namespace tenon::sdk {

// An input of the operator that its gradient does not get, and what the gradient gets instead that always has the same
// type and shape.
struct StandIn {
  uint32_t input;
  tenon_gradient_source source;
};

// How the node of a gradient belongs to the node of the operator.
struct GradientPairing {
  Table<tenon_gradient_source> sources;  // what input k of the gradient is
  Table<uint32_t> grad_inputs;           // the operator's input whose gradient output k is
  Table<StandIn> stand_ins = {};
};

namespace detail {

// The node of a gradient as the node of the operator: the operator's rule reads the inputs, and what it says of the
// outputs is kept.
class ForwardView {
 public:
  struct Output {
    uint32_t dtype = 0;  // 0: the rule has said nothing
    int32_t rank = 0;
    tenon_dim dims[kMaxRank] = {};
  };

  ForwardView(const Infer& node, const tenon_operator_def& forward, const GradientPairing& pairing)
      : node_(node), forward_(forward), pairing_(pairing) {
    input_count_ = CountOf(forward.inputs, forward.input_count);
    uint32_t output_count = CountOf(forward.outputs, forward.output_count);
    for (uint64_t k = 0; k < pairing.sources.count; ++k) {
      const tenon_gradient_source source = pairing.sources.first[k];
      uint32_t& count = source.kind == TENON_SOURCE_INPUT ? input_count_ : output_count;
      const uint32_t index = source.kind == TENON_SOURCE_INPUT ? source.index : OutputOf(source);
      if (index >= count) count = index + 1;
    }
    outputs_.resize(output_count);
    FillTable();
  }

  void RunRule() {
    for (uint32_t i = 0; i < forward_.input_count; ++i) {
      if ((forward_.inputs[i].flags & (TENON_PARAM_OPTIONAL | TENON_PARAM_VARIADIC)) == 0 && PlaceOf(i) == kNowhere)
        node_.Fail(TENON_INTERNAL, "The gradient of ", forward_.op_type, " gets nothing with the shape of input ", i,
                   " ('", forward_.inputs[i].name, "').");
    }
    if (forward_.infer == nullptr) node_.Fail(TENON_INTERNAL, forward_.op_type, " has no shape rule of its own.");
    const int32_t code = forward_.infer(&forward_, &table_, reinterpret_cast<tenon_infer*>(this));
    if (code != TENON_OK) throw Failure(code);  // the rule has said why
  }

  // Where the gradient's node has something of the type and shape of an input.
  static constexpr uint32_t kNowhere = UINT32_MAX;
  uint32_t PlaceOf(uint32_t input) const {
    const uint32_t place = PlaceOf(FromInput(input));
    if (place != kNowhere) return place;
    for (uint64_t k = 0; k < pairing_.stand_ins.count; ++k) {
      if (pairing_.stand_ins.first[k].input == input) return PlaceOf(pairing_.stand_ins.first[k].source);
    }
    return kNowhere;
  }

  // Input `place` of the gradient's node, which is an output or the gradient of one.
  void Check(uint32_t place, tenon_gradient_source source) const {
    const uint32_t index = OutputOf(source), last = forward_.output_count - 1;
    const Output& output = outputs_[index];
    if (output.dtype == 0)
      node_.Fail(TENON_INTERNAL, "The rule of ", forward_.op_type, " says nothing about output ", index, ".");
    const TextBuffer name(source.kind == TENON_SOURCE_OUTPUT_GRAD ? "The gradient of" : "The value given for",
                          " output ", index, " ('", forward_.outputs[index < last ? index : last].name, "')");
    const std::string_view subject = name.View();
    const uint32_t dtype = node_.InputDType(place);
    if (dtype != output.dtype)
      node_.Fail(TENON_INVALID_ARGUMENT, subject, " is ", DTypeName(dtype), "; the output is ", DTypeName(output.dtype),
                 ".");
    const int32_t rank = node_.InputRank(place);
    if (rank < 0 || output.rank < 0) return;  // not known yet
    if (rank != output.rank)
      node_.Fail(TENON_INVALID_ARGUMENT, subject, " has rank ", rank, "; the output has rank ", output.rank, ".");
    for (int32_t axis = 0; axis < rank; ++axis) {
      const TextBuffer text(subject, " needs the size of the output on axis ", axis, ".");
      node_.RequireEqual(node_.InputDim(place, axis), output.dims[axis], text.View());
    }
  }

 private:
  // Operands before a variadic one.
  static uint32_t CountOf(const tenon_param_def* params, uint32_t count) {
    return count > 0 && (params[count - 1].flags & TENON_PARAM_VARIADIC) != 0 ? count - 1 : count;
  }
  uint32_t PlaceOf(tenon_gradient_source source) const {
    for (uint32_t k = 0; k < pairing_.sources.count; ++k) {
      const tenon_gradient_source& own = pairing_.sources.first[k];
      if (own.kind == source.kind && own.index == source.index) return k;
    }
    return kNowhere;
  }
  uint32_t OutputOf(tenon_gradient_source source) const {
    if (source.kind != TENON_SOURCE_SAVED) return source.index;
    uint32_t first = 0;
    while (first < forward_.output_count && (forward_.outputs[first].flags & TENON_PARAM_SAVED) == 0) ++first;
    return first + source.index;
  }

  static ForwardView& Of(tenon_infer* handle) { return *reinterpret_cast<ForwardView*>(handle); }
  static const tenon_infer_api& Api(tenon_infer* handle) { return *Of(handle).node_.api(); }
  static tenon_infer* Raw(tenon_infer* handle) { return Of(handle).node_.raw(); }

  static uint32_t InputCount(tenon_infer* handle) { return Of(handle).input_count_; }
  static uint32_t OutputCount(tenon_infer* handle) { return static_cast<uint32_t>(Of(handle).outputs_.size()); }
  static uint32_t InputDType(tenon_infer* handle, uint32_t index) {
    return Api(handle).input_dtype(Raw(handle), Of(handle).PlaceOf(index));
  }
  static int32_t InputRank(tenon_infer* handle, uint32_t index) {
    return Api(handle).input_rank(Raw(handle), Of(handle).PlaceOf(index));
  }
  static int32_t InputDim(tenon_infer* handle, uint32_t index, uint32_t axis, tenon_dim* out) {
    return Api(handle).input_dim(Raw(handle), Of(handle).PlaceOf(index), axis, out);
  }
  static int32_t ConstInput(tenon_infer* handle, uint32_t index, tenon_tensor* out) {
    return Api(handle).const_input(Raw(handle), Of(handle).PlaceOf(FromInput(index)), out);
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
    if (index >= view.outputs_.size() || rank > kMaxRank) return TENON_OUT_OF_RANGE;
    Output& output = view.outputs_[index];
    output.dtype = dtype;
    output.rank = rank;
    for (int32_t axis = 0; axis < rank; ++axis) output.dims[axis] = dims[axis];
    return TENON_OK;
  }
  static void Fail(tenon_infer* handle, int32_t code, tenon_str message) {
    Api(handle).fail(Raw(handle), code, message);
  }
  static tenon_str NodeName(tenon_infer* handle) { return Api(handle).node_name(Raw(handle)); }  // last member

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
    if (TENON_HAS_SLOT(node_.api(), tenon_infer_api, node_name)) table_.node_name = &NodeName;  // last member
  }

  const Infer& node_;
  const tenon_operator_def& forward_;
  const GradientPairing& pairing_;
  uint32_t input_count_ = 0;
  tenon_infer_api table_ = TENON_INIT(tenon_infer_api);
  std::vector<Output> outputs_;
};

}  // namespace detail

// Checks all inputs of a gradient's node and gives its outputs the types and shapes of the operator's inputs. The
// gradient of an absent input has no elements: the kernels of such an operator are TENON_TRAIT_EMPTY_SAFE, and have
// nothing to write there.
inline void InferGradient(const Infer& node, const tenon_operator_def& forward, const GradientPairing& pairing) {
  detail::ForwardView view(node, forward, pairing);
  view.RunRule();
  for (uint32_t k = 0; k < pairing.sources.count; ++k) {
    const tenon_gradient_source source = pairing.sources.first[k];
    if (source.kind != TENON_SOURCE_INPUT && node.has_input(k)) view.Check(k, source);
  }
  for (uint32_t k = 0; k < pairing.grad_inputs.count && k < node.output_count(); ++k) {
    const uint32_t input = pairing.grad_inputs.first[k], place = view.PlaceOf(input);
    if (place == detail::ForwardView::kNowhere)
      node.Fail(TENON_INTERNAL, "The gradient of ", forward.op_type, " gets nothing with the shape of input ", input,
                ", whose gradient it gives.");
    if (node.has_input(place)) {
      node.SameAsInput(k, place);
    } else {
      const uint32_t dtype = node.InputDType(0);
      node.SetOutput(k, dtype == 0 ? static_cast<uint32_t>(TENON_DTYPE_F32) : dtype, {Known(0)});
    }
  }
}

// Of an operator with a paired gradient.
inline void InferGradient(const Infer& node, const tenon_operator_def& forward, Table<StandIn> stand_ins = {}) {
  const tenon_paired_gradient& paired = *forward.paired;
  InferGradient(
      node, forward,
      GradientPairing{{paired.sources, paired.source_count}, {paired.grad_inputs, paired.grad_input_count}, stand_ins});
}

// A tenon_infer_fn.
template <const tenon_operator_def& kForward>
int32_t InferGradientOf(const tenon_operator_def*, const tenon_infer_api* api, tenon_infer* infer) noexcept {
  return RunInfer(api, infer, [](Infer& node) { InferGradient(node, kForward); });
}

}  // namespace tenon::sdk
