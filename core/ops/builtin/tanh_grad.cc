// tenon.TanhGrad(dY, Y) = dY * (1 - Y^2), elementwise; Y is the output of Tanh.
#include "core/ops/elementwise.h"

namespace tenon {
namespace {

Status Reference(const ReferenceArgs& args) {
  return ZipFloating(args, [](auto dy, auto y) { return dy * (1 - y * y); });
}

// For a gradient U: dY gets U * (1 - Y^2), Y gets -2 U dY Y.
Status Gradient(GradBuilder& b, GradArgs& args) {
  const Value u = args.output_grads[0], dy = args.inputs[0], y = args.inputs[1];
  if (args.wants(0)) args.input_grads[0] = b.TenonOp("TanhGrad", {u, y});
  if (args.wants(1)) args.input_grads[1] = b.Mul(b.Mul(u, dy), b.Mul(y, b.ScalarLike(y, -2)));
  return {};
}

}  // namespace

void DefineOp_tanh_grad(OpRegistry& ops) {
  ops.DefineTenon("TanhGrad")
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
