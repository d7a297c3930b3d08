// tenon.GeluGrad(dY, X; approximate) = dY * d Gelu(X) / dX. Exact form: Phi(x) + x phi(x) with the normal density phi;
// tanh form, with t = tanh(u(x)): (1 + t) / 2 + x / 2 * (1 - t^2) * u'(x). X is the input of Gelu.
#include "core/ops/elementwise.h"
#include "core/ops/gelu.h"

namespace tenon {
namespace {

Status Infer(InferContext& context) {
  TENON_TRY(GeluIsApproximate(context.attrs()));
  return InferSameShapes(context);
}

template <class A>
A Slope(A x, bool approximate) {
  if (!approximate) {
    const A phi = static_cast<A>(kInverseSqrt2Pi) * std::exp(-x * x / 2);
    return (1 + std::erf(x * static_cast<A>(kInverseSqrt2))) / 2 + x * phi;
  }
  const A t = std::tanh(GeluTanhArgument(x));
  const A inner = static_cast<A>(kSqrt2OverPi) * (1 + static_cast<A>(3 * 0.044715) * x * x);
  return (1 + t) / 2 + x / 2 * (1 - t * t) * inner;
}

Status Reference(const ReferenceArgs& args) {
  TENON_ASSIGN(const bool approximate, GeluIsApproximate(args.attrs));
  return ZipFloating(args, [approximate](auto dy, auto x) { return dy * Slope(x, approximate); });
}

}  // namespace

void DefineOp_gelu_grad(OpRegistry& ops) {
  ops.DefineTenon("GeluGrad")
      .Input("dY", kFloatingTypes)
      .Input("X", kFloatingTypes)
      .Output("dX")
      .Attr("approximate", "none")
      .Elementwise()
      .InPlace(0, 0)
      .InPlace(0, 1)
      .Infer(Infer)
      .Reference(Reference);
}

}  // namespace tenon
