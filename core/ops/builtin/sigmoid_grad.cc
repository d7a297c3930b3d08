// tenon.SigmoidGrad(dY, Y) = dY * Y * (1 - Y), elementwise; Y is the output of Sigmoid.
#include "core/ops/elementwise.h"

namespace tenon {
namespace {

Status Reference(const ReferenceArgs& args) {
  return ZipFloating(args, [](auto dy, auto y) { return dy * y * (1 - y); });
}

// For a gradient U: dY gets U * Y * (1 - Y), Y gets U * dY * (1 - 2 Y).
Status Gradient(GradBuilder& b, GradArgs& args) {
  const Value u = args.output_grads[0], dy = args.inputs[0], y = args.inputs[1];
  if (args.wants(0)) args.input_grads[0] = b.TenonOp("SigmoidGrad", {u, y});
  if (args.wants(1)) args.input_grads[1] = b.Mul(b.Mul(u, dy), b.Sub(b.ScalarLike(y, 1), b.Add(y, y)));
  return {};
}

}  // namespace

void DefineOp_sigmoid_grad(OpRegistry& ops) {
  ops.DefineTenon("SigmoidGrad")
      .Input("dY", kFloatingTypes)
      .Input("Y", kFloatingTypes)
      .Output("dX")
      .Elementwise()
      .InPlace(0, 0)
      .InPlace(0, 1)
      .Infer(InferSameShapes)
      .Reference(Reference)
      .Gradient(Gradient);
}

}  // namespace tenon
