// tenon.SwishGrad(dY, X; alpha = 1) = dY * s * (1 + z * (1 - s)) with z = alpha * X and s = 1 / (1 + exp(-z)). X is the
// input of Swish.
#include <cmath>

#include "core/ops/elementwise.h"

namespace tenon {
namespace {

Status Reference(const ReferenceArgs& args) {
  const double alpha = args.attrs.Float("alpha");
  return ZipFloating(args, [alpha](auto dy, auto x) {
    const auto z = static_cast<decltype(x)>(alpha) * x;
    const auto e = std::exp(-std::abs(z));
    const auto s = z >= 0 ? 1 / (1 + e) : e / (1 + e), rest = z >= 0 ? e / (1 + e) : 1 / (1 + e);
    return dy * s * (1 + z * rest);
  });
}

// Linear in dY; by X it is U * dY * alpha * s * (1 - s) * (2 + z * (1 - 2 s)).
Status Gradient(GradBuilder& b, GradArgs& args) {
  const Value u = args.output_grads[0], dy = args.inputs[0], x = args.inputs[1];
  if (args.wants(0)) args.input_grads[0] = b.TenonOp("SwishGrad", {u, x}, args.attrs);
  if (args.wants(1)) {
    const Value alpha = b.ScalarLike(x, args.attrs.Float("alpha")), z = b.Mul(x, alpha), s = b.Op("Sigmoid", {z});
    const Value bend = b.Add(b.ScalarLike(x, 2), b.Mul(z, b.Sub(b.ScalarLike(x, 1), b.Add(s, s))));
    const Value slope = b.TenonOp("SigmoidGrad", {b.Mul(b.Mul(u, dy), alpha), s});
    args.input_grads[1] = b.Mul(slope, bend);
  }
  return {};
}

}  // namespace

void DefineOp_swish_grad(OpRegistry& ops) {
  ops.DefineTenon("SwishGrad")
      .Input("dY", kFloatingTypes)
      .Input("X", kFloatingTypes)
      .Output("dX")
      .Attr("alpha", 1.0)
      .Elementwise()
      .InPlace(0, 0)
      .InPlace(0, 1)
      .Infer(InferSameShapes)
      .Reference(Reference)
      .Gradient(Gradient);
}

}  // namespace tenon
