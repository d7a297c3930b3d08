// LogSoftmax(X; axis) = X - log(sum of exp(X)) along axis, computed from X - max. ONNX LogSoftmax: since opset 13 one axis,
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
      for (const A value : row) sum += std::exp(value - top);
      const A log_sum = std::log(sum);
      for (A& value : row) value = value - top - log_sum;
    });
  });
  return {};
}

// dX = dY - exp(Y) * sum of dY
GradientFn Gradient(bool flattened) {
  return [flattened](GradBuilder& b, GradArgs& args) -> Status {
    args.input_grads[0] = b.TenonOp("LogSoftmaxGrad", {args.output_grads[0], args.outputs[0]},
                                    {{"axis", args.attrs.Int("axis")}, {"flattened", std::int64_t{flattened ? 1 : 0}}});
    return {};
  };
}

}  // namespace

void DefineOp_log_softmax(OpRegistry& ops) {
  ops.Define("LogSoftmax")
      .InLowPrecision(LowPrecision::kLosesDigits)
      .Since(1)
      .Input("input", kFloatingTypes)
      .Output("output")
      .Attr("axis", 1)
      .InPlace(0, 0)
      .Infer([](InferContext& context) { return InferSoftmax(context, true); })
      .Reference([](const ReferenceArgs& args) { return Reference(args, true); })
      .Gradient(Gradient(true));
  ops.Define("LogSoftmax")
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
