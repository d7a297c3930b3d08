// Elu(X; alpha = 1) = X where X >= 0, else alpha * (exp(X) - 1); NaN stays NaN. ONNX Elu, since opset 6. Source: Clevert,
// Unterthiner and Hochreiter 2016.
#include <cmath>

#include "core/ops/elementwise.h"

namespace tenon {
namespace {

Status Reference(const ReferenceArgs& args) {
  const double alpha = args.attrs.Float("alpha");
  return MapFloating(args, [alpha](auto x) { return x < 0 ? static_cast<decltype(x)>(alpha) * std::expm1(x) : x; });
}

Status Gradient(GradBuilder& b, GradArgs& args) {
  args.input_grads[0] = b.TenonOp("EluGrad", {args.output_grads[0], args.inputs[0]}, args.attrs);
  return {};
}

}  // namespace

void DefineOp_elu(OpRegistry& ops) {
  ops.Define("Elu")
      .Since(6)
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
