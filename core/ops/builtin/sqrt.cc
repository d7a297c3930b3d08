// Sqrt(X) = square root of X, elementwise; NaN below 0. ONNX Sqrt, since opset 6.
#include <cmath>

#include "core/ops/elementwise.h"

namespace tenon {
namespace {

Status Reference(const ReferenceArgs& args) {
  return MapFloating(args, [](auto x) { return std::sqrt(x); });
}

// dX = dY / (2 Y)
Status Gradient(GradBuilder& b, GradArgs& args) {
  const Value y = args.outputs[0];
  args.input_grads[0] = b.Div(args.output_grads[0], b.Add(y, y));
  return {};
}

}  // namespace

void DefineOp_sqrt(OpRegistry& ops) {
  ops.Define("Sqrt")
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
