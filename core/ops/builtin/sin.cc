// Sin(X) = sine of X in radians, elementwise. ONNX Sin, since opset 7.
#include <cmath>

#include "core/ops/elementwise.h"

namespace tenon {
namespace {

Status Reference(const ReferenceArgs& args) {
  return MapFloating(args, [](auto x) { return std::sin(x); });
}

// dX = dY * cos X
Status Gradient(GradBuilder& b, GradArgs& args) {
  args.input_grads[0] = b.Mul(args.output_grads[0], b.Op("Cos", {args.inputs[0]}));
  return {};
}

}  // namespace

void DefineOp_sin(OpRegistry& ops) {
  ops.Define("Sin")
      .Since(7)
      .Input("input", kFloatingTypes)
      .Output("output")
      .Elementwise()
      .InPlace(0, 0)
      .Infer(InferSameAsFirst)
      .Reference(Reference)
      .Gradient(Gradient);
}

}  // namespace tenon
