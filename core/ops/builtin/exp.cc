// Exp(X) = e^X, elementwise. ONNX Exp, since opset 6.
#include <cmath>

#include "core/ops/elementwise.h"

namespace tenon {
namespace {

Status Reference(const ReferenceArgs& args) {
  return MapFloating(args, [](auto x) { return std::exp(x); });
}

// dX = dY * Y
Status Gradient(GradBuilder& b, GradArgs& args) {
  args.input_grads[0] = b.Mul(args.output_grads[0], args.outputs[0]);
  return {};
}

}  // namespace

void DefineOp_exp(OpRegistry& ops) {
  ops.Define("Exp")
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
