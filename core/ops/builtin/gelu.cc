// Gelu(X) = X * Phi(X) with the normal distribution function Phi(x) = (1 + erf(x / sqrt 2)) / 2; approximate = tanh:
// X / 2 * (1 + tanh(sqrt(2 / pi) * (X + 0.044715 X^3))). ONNX Gelu, since opset 20. Source: Hendrycks and Gimpel 2016.
#include "core/ops/gelu.h"

#include "core/ops/elementwise.h"

namespace tenon {
namespace {

Status Infer(InferContext& context) {
  TENON_TRY(GeluIsApproximate(context.attrs()));
  return InferSameAsFirst(context);
}

Status Reference(const ReferenceArgs& args) {
  TENON_ASSIGN(const bool approximate, GeluIsApproximate(args.attrs));
  return MapFloating(args, [approximate](auto x) {
    using A = decltype(x);
    if (!approximate) return static_cast<A>(x * A{0.5} * (1 + std::erf(x * static_cast<A>(kInverseSqrt2))));
    return static_cast<A>(x * A{0.5} * (1 + std::tanh(GeluTanhArgument(x))));
  });
}

Status Gradient(GradBuilder& b, GradArgs& args) {
  args.input_grads[0] = b.TenonOp("GeluGrad", {args.output_grads[0], args.inputs[0]}, args.attrs);
  return {};
}

}  // namespace

void DefineOp_gelu(OpRegistry& ops) {
  ops.Define("Gelu")
      .Since(20)
      .Input("X", kFloatingTypes)
      .Output("Y")
      .Attr("approximate", "none")
      .Elementwise()
      .InPlace(0, 0)
      .Infer(Infer)
      .Reference(Reference)
      .Gradient(Gradient);
}

}  // namespace tenon
