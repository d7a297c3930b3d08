// HardSwish(X) = X * max(0, min(1, X / 6 + 1 / 2)); NaN stays NaN. ONNX HardSwish, since opset 14. Source: Howard et al.
// 2019.
#include "core/ops/elementwise.h"

namespace tenon {
namespace {

Status Reference(const ReferenceArgs& args) {
  return MapFloating(args, [](auto x) {
    using A = decltype(x);
    return x <= -3 ? A{0} : x >= 3 ? x : x * (x + 3) / 6;
  });
}

Status Gradient(GradBuilder& b, GradArgs& args) {
  args.input_grads[0] = b.TenonOp("HardSwishGrad", {args.output_grads[0], args.inputs[0]});
  return {};
}

}  // namespace

void DefineOp_hard_swish(OpRegistry& ops) {
  ops.Define("HardSwish")
      .Since(14)
      .Input("X", kFloatingTypes)
      .Output("Y")
      .Elementwise()
      .InPlace(0, 0)
      .Infer(InferSameAsFirst)
      .Reference(Reference)
      .Gradient(Gradient);
}

}  // namespace tenon
