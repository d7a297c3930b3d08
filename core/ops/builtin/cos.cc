// Cos(X) = cosine of X in radians, elementwise. ONNX Cos, since opset 7.
#include <cmath>

#include "core/ops/elementwise.h"

namespace tenon {
namespace {

Status Reference(const ReferenceArgs& args) {
  return MapFloating(args, [](auto x) { return std::cos(x); });
}

// dX = -dY * sin X
Status Gradient(GradBuilder& b, GradArgs& args) {
  args.input_grads[0] = b.Neg(b.Mul(args.output_grads[0], b.Op("Sin", {args.inputs[0]})));
  return {};
}

}  // namespace

void DefineOp_cos(OpRegistry& ops) {
  ops.Define("Cos")
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
