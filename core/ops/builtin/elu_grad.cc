// tenon.EluGrad(dY, X; alpha = 1) = dY where X > 0, else dY * alpha * exp(X). X is the input of Elu; at 0, where the slope
// jumps unless alpha is 1, it is that of the left side (as in PyTorch).
#include <cmath>

#include "core/ops/elementwise.h"

namespace tenon {
namespace {

Status Reference(const ReferenceArgs& args) {
  const double alpha = args.attrs.Float("alpha");
  return ZipFloating(
      args, [alpha](auto dy, auto x) { return x > 0 ? dy : dy * static_cast<decltype(dy)>(alpha) * std::exp(x); });
}

// Linear in dY; by X it is U * dY * alpha * exp(X) at and below 0: the whole of EluGrad less its part above 0.
Status Gradient(GradBuilder& b, GradArgs& args) {
  const Value u = args.output_grads[0], dy = args.inputs[0], x = args.inputs[1];
  if (args.wants(0)) args.input_grads[0] = b.TenonOp("EluGrad", {u, x}, args.attrs);
  if (args.wants(1)) {
    const Value both = b.Mul(u, dy);
    args.input_grads[1] = b.Sub(b.TenonOp("EluGrad", {both, x}, args.attrs), b.TenonOp("ReluGrad", {both, x}));
  }
  return {};
}

}  // namespace

void DefineOp_elu_grad(OpRegistry& ops) {
  ops.DefineTenon("EluGrad")
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
