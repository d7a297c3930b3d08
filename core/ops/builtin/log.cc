// Log(X) = natural logarithm of X, elementwise; -inf at 0, NaN below. ONNX Log, since opset 6.
#include <cmath>

#include "core/ops/elementwise.h"

namespace tenon {
namespace {

Status Reference(const ReferenceArgs& args) {
  return MapFloating(args, [](auto x) { return std::log(x); });
}

// dX = dY / X
Status Gradient(GradBuilder& b, GradArgs& args) {
  args.input_grads[0] = b.Div(args.output_grads[0], args.inputs[0]);
  return {};
}

}  // namespace

void DefineOp_log(OpRegistry& ops) {
  ops.Define("Log")
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
