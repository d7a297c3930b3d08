// Reciprocal(X) = 1 / X, elementwise. ONNX Reciprocal, since opset 6.
#include "core/ops/elementwise.h"

namespace tenon {
namespace {

Status Reference(const ReferenceArgs& args) {
  return MapFloating(args, [](auto x) { return 1 / x; });
}

// dX = -dY * Y * Y
Status Gradient(GradBuilder& b, GradArgs& args) {
  const Value y = args.outputs[0];
  args.input_grads[0] = b.Neg(b.Mul(args.output_grads[0], b.Mul(y, y)));
  return {};
}

}  // namespace

void DefineOp_reciprocal(OpRegistry& ops) {
  ops.Define("Reciprocal")
      .InLowPrecision(LowPrecision::kLosesDigits)
      .Since(6)
      .Input("X", kFloatingTypes)
      .Output("Y")
      .Elementwise()
      .InPlace(0, 0)
      .Infer(InferSameAsFirst)
      .Reference(Reference)
      .Gradient(Gradient);
}

}  // namespace tenon
