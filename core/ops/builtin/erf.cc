// Erf(X) = 2 / sqrt(pi) * integral of exp(-t^2) from 0 to X, elementwise, for floating types. ONNX Erf, since opset 9.
#include <cmath>

#include "core/ops/elementwise.h"

namespace tenon {
namespace {

Status Reference(const ReferenceArgs& args) {
  return MapFloating(args, [](auto x) { return std::erf(x); });
}

Status Gradient(GradBuilder& b, GradArgs& args) {
  args.input_grads[0] = b.TenonOp("ErfGrad", {args.output_grads[0], args.inputs[0]});
  return {};
}

}  // namespace

void DefineOp_erf(OpRegistry& ops) {
  ops.Define("Erf")
      .Since(9)
      .Input("input", kFloatingTypes)
      .Output("output")
      .Elementwise()
      .InPlace(0, 0)
      .Infer(InferSameAsFirst)
      .Reference(Reference)
      .Gradient(Gradient);
}

}  // namespace tenon
