// Tanh(X) = hyperbolic tangent of X, elementwise. ONNX Tanh, since opset 6.
#include <cmath>

#include "core/ops/elementwise.h"

namespace tenon {
namespace {

Status Reference(const ReferenceArgs& args) {
  return MapFloating(args, [](auto x) { return std::tanh(x); });
}

// dX = dY * (1 - Y^2)
Status Gradient(GradBuilder& b, GradArgs& args) {
  args.input_grads[0] = b.TenonOp("TanhGrad", {args.output_grads[0], args.outputs[0]});
  return {};
}

}  // namespace

void DefineOp_tanh(OpRegistry& ops) {
  ops.Define("Tanh")
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
