// HardSigmoid(X; alpha = 0.2, beta = 0.5) = max(0, min(1, alpha * X + beta)); NaN stays NaN. ONNX HardSigmoid, since
// opset 6.
#include "core/ops/elementwise.h"

namespace tenon {
namespace {

Status Reference(const ReferenceArgs& args) {
  const double alpha = args.attrs.Float("alpha"), beta = args.attrs.Float("beta");
  return MapFloating(args, [alpha, beta](auto x) {
    using A = decltype(x);
    const A line = static_cast<A>(alpha) * x + static_cast<A>(beta);
    return line < 0 ? A{0} : line > 1 ? A{1} : line;
  });
}

Status Gradient(GradBuilder& b, GradArgs& args) {
  args.input_grads[0] = b.TenonOp("HardSigmoidGrad", {args.output_grads[0], args.inputs[0]}, args.attrs);
  return {};
}

}  // namespace

void DefineOp_hard_sigmoid(OpRegistry& ops) {
  ops.Define("HardSigmoid")
      .Since(6)
      .Input("X", kFloatingTypes)
      .Output("Y")
      .Attr("alpha", 0.2)
      .Attr("beta", 0.5)
      .Elementwise()
      .InPlace(0, 0)
      .Infer(InferSameAsFirst)
      .Reference(Reference)
      .Gradient(Gradient);
}

}  // namespace tenon
