// tenon.HardSigmoidGrad(dY, X; alpha = 0.2, beta = 0.5) = alpha * dY where 0 < alpha * X + beta < 1, else 0; NaN in X lets
// alpha * dY through. X is the input of HardSigmoid.
#include "core/ops/elementwise.h"

namespace tenon {
namespace {

Status Reference(const ReferenceArgs& args) {
  const double alpha = args.attrs.Float("alpha"), beta = args.attrs.Float("beta");
  return ZipFloating(args, [alpha, beta](auto dy, auto x) {
    using A = decltype(dy);
    const A line = static_cast<A>(alpha) * x + static_cast<A>(beta);
    return line <= 0 || line >= 1 ? A{0} : dy * static_cast<A>(alpha);
  });
}

// Linear in dY, piecewise constant in X.
Status Gradient(GradBuilder& b, GradArgs& args) {
  if (args.wants(0)) {
    args.input_grads[0] = b.TenonOp("HardSigmoidGrad", {args.output_grads[0], args.inputs[1]}, args.attrs);
  }
  return {};
}

}  // namespace

void DefineOp_hard_sigmoid_grad(OpRegistry& ops) {
  ops.DefineTenon("HardSigmoidGrad")
      .Input("dY", kFloatingTypes)
      .Input("X", kFloatingTypes)
      .Output("dX")
      .Attr("alpha", 0.2)
      .Attr("beta", 0.5)
      .Elementwise()
      .InPlace(0, 0)
      .InPlace(0, 1)
      .Infer(InferSameShapes)
      .Reference(Reference)
      .Gradient(Gradient);
}

}  // namespace tenon
