// Swish(X; alpha = 1) = X / (1 + exp(-alpha * X)); with alpha 1 also called Silu. ONNX Swish, since opset 24. Source:
// Ramachandran, Zoph and Le 2017.
#include <cmath>

#include "core/ops/elementwise.h"

namespace tenon {
namespace {

Status Reference(const ReferenceArgs& args) {
  const double alpha = args.attrs.Float("alpha");
  return MapFloating(args, [alpha](auto x) {
    const auto z = static_cast<decltype(x)>(alpha) * x;
    const auto e = std::exp(-std::abs(z));
    return x * (z >= 0 ? 1 / (1 + e) : e / (1 + e));
  });
}

Status Gradient(GradBuilder& b, GradArgs& args) {
  args.input_grads[0] = b.TenonOp("SwishGrad", {args.output_grads[0], args.inputs[0]}, args.attrs);
  return {};
}

}  // namespace

void DefineOp_swish(OpRegistry& ops) {
  ops.Define("Swish")
      .Since(24)
      .Input("X", kFloatingTypes)
      .Output("Y")
      .Attr("alpha", 1.0)
      .Elementwise()
      .InPlace(0, 0)
      .Infer(InferSameAsFirst)
      .Reference(Reference)
      .Gradient(Gradient);
}

}  // namespace tenon
