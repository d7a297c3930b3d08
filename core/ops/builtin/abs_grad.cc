// tenon.AbsGrad(dY, X) = dY where X > 0, -dY where X < 0, 0 where X = 0; NaN where X is NaN. X is the input of Abs.
#include "core/ops/elementwise.h"

namespace tenon {
namespace {

Status Reference(const ReferenceArgs& args) {
  return ZipFloating(args, [](auto dy, auto x) { return x > 0 ? dy : x < 0 ? -dy : x * dy; });
}

// Linear in dY, piecewise constant in X.
Status Gradient(GradBuilder& b, GradArgs& args) {
  if (args.wants(0)) args.input_grads[0] = b.TenonOp("AbsGrad", {args.output_grads[0], args.inputs[1]});
  return {};
}

}  // namespace

void DefineOp_abs_grad(OpRegistry& ops) {
  ops.DefineTenon("AbsGrad")
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
