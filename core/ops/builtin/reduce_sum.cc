// ReduceSum(X, axes): sum over axes, all of them when none are given; an empty sum is 0. Integers wrap, 16-bit floats
// accumulate in float. ONNX ReduceSum: axes are an attribute since opset 1, an input since opset 13.
#include <vector>

#include "core/ops/elementwise.h"
#include "core/ops/reduction.h"

namespace tenon {
namespace {

Status Sum(const ReferenceArgs& args, bool axes_are_input) {
  const Tensor& x = args.inputs[0];
  TENON_ASSIGN(const std::vector<int> axes, ReductionAxesOf(args, axes_are_input));
  Tensor& y = args.outputs[0];
  ForNumeric(x.dtype(), [&]<class T>() {
    using A = Accumulator<T>;
    std::vector<A> sums(static_cast<std::size_t>(y.elements()), A{0});
    const T* values = x.data<T>();
    ForEachReduced(x.shape(), axes, [&](std::int64_t i, std::int64_t o) {
      A& sum = sums[static_cast<std::size_t>(o)];
      sum = Combine(sum, static_cast<A>(values[i]), [](auto a, auto b) { return a + b; });
    });
    for (std::size_t o = 0; o < sums.size(); ++o) y.data<T>()[o] = static_cast<T>(sums[o]);
  });
  return {};
}

Status Gradient(GradBuilder& b, GradArgs& args) {
  if (args.wants(0)) args.input_grads[0] = SpreadOverInput(b, args, args.output_grads[0]);
  return {};
}

}  // namespace

void DefineOp_reduce_sum(OpRegistry& ops) {
  ops.Define("ReduceSum")
      .InLowPrecision(LowPrecision::kLosesDigits)
      .Since(1)
      .Input("data", kNumericTypes)
      .Output("reduced")
      .OptionalAttr("axes", AttrType::kInts)
      .Attr("keepdims", 1)
      .Infer([](InferContext& context) { return InferReduction(context, false); })
      .Reference([](const ReferenceArgs& args) { return Sum(args, false); })
      .Gradient(Gradient);
  ops.Define("ReduceSum")
      .InLowPrecision(LowPrecision::kLosesDigits)
      .Since(13)
      .Input("data", kNumericTypes)
      .OptionalInput("axes", {DType::kI64}, "axes")
      .Output("reduced")
      .Attr("keepdims", 1)
      .Attr("noop_with_empty_axes", 0)
      .Infer([](InferContext& context) { return InferReduction(context, true); })
      .Reference([](const ReferenceArgs& args) { return Sum(args, true); })
      .Gradient(Gradient);
}

}  // namespace tenon
