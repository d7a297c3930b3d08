// tenon.ErfGrad(dY, X) = dY * 2 / sqrt(pi) * exp(-X^2). X is the input of Erf.
#include <cmath>
#include <numbers>

#include "core/ops/elementwise.h"

namespace tenon {
namespace {

Status Reference(const ReferenceArgs& args) {
  return ZipFloating(args, [](auto dy, auto x) {
    return dy * static_cast<decltype(dy)>(2 * std::numbers::inv_sqrtpi) * std::exp(-x * x);
  });
}

// Linear in dY; by X it is -2 X times the same bell curve.
Status Gradient(GradBuilder& b, GradArgs& args) {
  const Value u = args.output_grads[0], dy = args.inputs[0], x = args.inputs[1];
  if (args.wants(0)) args.input_grads[0] = b.TenonOp("ErfGrad", {u, x});
  if (args.wants(1)) {
    args.input_grads[1] = b.Mul(b.Mul(x, b.ScalarLike(x, -2)), b.TenonOp("ErfGrad", {b.Mul(u, dy), x}));
  }
  return {};
}

}  // namespace

void DefineOp_erf_grad(OpRegistry& ops) {
  ops.DefineTenon("ErfGrad")
      .Input("dY", kFloatingTypes)
      .Input("X", kFloatingTypes)
      .Output("dX")
      .Elementwise()
      .InPlace(0, 0)
      .InPlace(0, 1)
      .Infer(InferSameShapes)
      .Reference(Reference)
      .Gradient(Gradient);
}

}  // namespace tenon
