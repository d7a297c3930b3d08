// ReduceMax(X, axes): greatest value over axes, all of them when none are given; NaN wins. Of nothing it is -inf, for
// integers the least value, for bool false. ONNX ReduceMax: axes are an attribute since opset 1, an input since opset 18.
#include <limits>
#include <vector>

#include "core/ops/reduction.h"

namespace tenon {
namespace {

template <class T>
T Least() {
  if constexpr (std::is_integral_v<T>) {
    return std::numeric_limits<T>::lowest();
  } else {
    return static_cast<T>(-std::numeric_limits<float>::infinity());
  }
}

Status Max(const ReferenceArgs& args, bool axes_are_input) {
  const Tensor& x = args.inputs[0];
  TENON_ASSIGN(const std::vector<int> axes, ReductionAxesOf(args, axes_are_input));
  Tensor& y = args.outputs[0];
  ForAny(x.dtype(), [&]<class T>() {
    std::fill_n(y.data<T>(), y.elements(), Least<T>());
    ForEachReduced(x.shape(), axes, [&](std::int64_t i, std::int64_t o) {
      const T value = x.data<T>()[i];
      T& best = y.data<T>()[o];
      if (value > best || value != value) best = value;
    });
  });
  return {};
}

// dX = dY shared evenly among the elements that equal the result.
Status Gradient(GradBuilder& b, GradArgs& args) {
  if (!args.wants(0)) return {};
  args.input_grads[0] = b.TenonOp(
      "ReduceMaxGrad", {KeptForm(b, args, args.output_grads[0]), args.inputs[0], KeptForm(b, args, args.outputs[0])});
  return {};
}

}  // namespace

void DefineOp_reduce_max(OpRegistry& ops) {
  ops.Define("ReduceMax")
      .Since(1)
      .Input("data", kAllTypes)
      .Output("reduced")
      .OptionalAttr("axes", AttrType::kInts)
      .Attr("keepdims", 1)
      .Infer([](InferContext& context) { return InferReduction(context, false); })
      .Reference([](const ReferenceArgs& args) { return Max(args, false); })
      .Gradient(Gradient);
  ops.Define("ReduceMax")
      .Since(18)
      .Input("data", kAllTypes)
      .OptionalInput("axes", {DType::kI64}, "axes")
      .Output("reduced")
      .Attr("keepdims", 1)
      .Attr("noop_with_empty_axes", 0)
      .Infer([](InferContext& context) { return InferReduction(context, true); })
      .Reference([](const ReferenceArgs& args) { return Max(args, true); })
      .Gradient(Gradient);
}

}  // namespace tenon
