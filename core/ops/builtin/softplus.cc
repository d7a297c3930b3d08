// Softplus(X) = log(1 + exp(X)) = max(X, 0) + log1p(exp(-|X|)), which cannot overflow. ONNX Softplus, since opset 1.
#include <cmath>

#include "core/ops/elementwise.h"

namespace tenon {
namespace {

Status Reference(const ReferenceArgs& args) {
  return MapFloating(args, [](auto x) { return (x < 0 ? 0 : x) + std::log1p(std::exp(-std::abs(x))); });
}

Status Gradient(GradBuilder& b, GradArgs& args) {
  args.input_grads[0] = b.TenonOp("SoftplusGrad", {args.output_grads[0], args.inputs[0]});
  return {};
}

}  // namespace

void DefineOp_softplus(OpRegistry& ops) {
  ops.Define("Softplus")
      .InLowPrecision(LowPrecision::kLosesDigits)
      .Input("X", kFloatingTypes)
      .Output("Y")
      .Elementwise()
      .InPlace(0, 0)
      .Infer(InferSameAsFirst)
      .Reference(Reference)
      .Gradient(Gradient);
}

}  // namespace tenon
