// Sigmoid(X) = 1 / (1 + exp(-X)), elementwise; exp never sees a positive argument and so cannot overflow. ONNX Sigmoid,
// since opset 6.
#include <cmath>

#include "core/ops/elementwise.h"

namespace tenon {
namespace {

Status Reference(const ReferenceArgs& args) {
  return MapFloating(args, [](auto x) {
    const auto e = std::exp(-std::abs(x));
    return x >= 0 ? 1 / (1 + e) : e / (1 + e);
  });
}

// dX = dY * Y * (1 - Y)
Status Gradient(GradBuilder& b, GradArgs& args) {
  args.input_grads[0] = b.TenonOp("SigmoidGrad", {args.output_grads[0], args.outputs[0]});
  return {};
}

}  // namespace

void DefineOp_sigmoid(OpRegistry& ops) {
  ops.Define("Sigmoid")
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
