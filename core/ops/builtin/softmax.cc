// Softmax(X; axis): exp(X) / sum of exp(X) along axis, computed as exp(X - max). ONNX Softmax: since opset 13 one axis,
// the last by default; before, X counts as a matrix whose rows are all dims from axis (default 1) on.
#include "core/ops/softmax.h"

namespace tenon {
namespace {

Status Reference(const ReferenceArgs& args, bool flattened) {
  TENON_ASSIGN(const SoftmaxRows rows, SoftmaxRowsOf(args.attrs, args.inputs[0].shape(), flattened));
  ForFloating(args.inputs[0].dtype(), [&]<class T>() {
    using A = Accumulator<T>;
    rows.Each(args.inputs[0].data<T>(), args.outputs[0].data<T>(), [](std::vector<A>& row) {
      const A top = Greatest(row);
      A sum{0};
      for (A& value : row) sum += value = std::exp(value - top);
      for (A& value : row) value /= sum;
    });
  });
  return {};
}

// dX = Y * (dY - sum of dY * Y)
GradientFn Gradient(bool flattened) {
  return [flattened](GradBuilder& b, GradArgs& args) -> Status {
    args.input_grads[0] = b.TenonOp("SoftmaxGrad", {args.output_grads[0], args.outputs[0]},
                                    {{"axis", args.attrs.Int("axis")}, {"flattened", std::int64_t{flattened ? 1 : 0}}});
    return {};
  };
}

}  // namespace

void DefineOp_softmax(OpRegistry& ops) {
  ops.Define("Softmax")
      .InLowPrecision(LowPrecision::kLosesDigits)
      .Since(1)
      .Input("input", kFloatingTypes)
      .Output("output")
      .Attr("axis", 1)
      .InPlace(0, 0)
      .Infer([](InferContext& context) { return InferSoftmax(context, true); })
      .Reference([](const ReferenceArgs& args) { return Reference(args, true); })
      .Gradient(Gradient(true));
  ops.Define("Softmax")
      .InLowPrecision(LowPrecision::kLosesDigits)
      .Since(13)
      .Input("input", kFloatingTypes)
      .Output("output")
      .Attr("axis", -1)
      .InPlace(0, 0)
      .Infer([](InferContext& context) { return InferSoftmax(context, false); })
      .Reference([](const ReferenceArgs& args) { return Reference(args, false); })
      .Gradient(Gradient(false));
}

}  // namespace tenon
