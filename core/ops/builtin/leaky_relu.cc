// LeakyRelu(X; alpha = 0.01) = X where X >= 0, else alpha * X; NaN stays NaN. ONNX LeakyRelu, since opset 6.
#include "core/ops/elementwise.h"

namespace tenon {
namespace {

Status Reference(const ReferenceArgs& args) {
  const double alpha = args.attrs.Float("alpha");
  return MapFloating(args, [alpha](auto x) { return x < 0 ? static_cast<decltype(x)>(alpha) * x : x; });
}

Status Gradient(GradBuilder& b, GradArgs& args) {
  args.input_grads[0] =
      b.TenonOp("LeakyReluGrad", {args.output_grads[0], args.inputs[0]}, {{"alpha", args.attrs.Float("alpha")}});
  return {};
}

}  // namespace

void DefineOp_leaky_relu(OpRegistry& ops) {
  ops.Define("LeakyRelu")
      .Since(6)
      .Input("X", kFloatingTypes)
      .Output("Y")
      .Attr("alpha", 0.01)
      .Elementwise()
      .InPlace(0, 0)
      .Infer(InferSameAsFirst)
      .Reference(Reference)
      .Gradient(Gradient);
}

}  // namespace tenon
