// tenon.ReluGrad(dY, Y) = dY where Y > 0, else 0; NaN in Y lets dY through. Y is the output of Relu.
#include "core/ops/elementwise.h"

namespace tenon {
namespace {

Status Reference(const ReferenceArgs& args) {
  return ZipFloating(args, [](auto dy, auto y) { return y <= 0 ? decltype(dy){0} : dy; });
}

// Linear in dY with the same mask; Y only selects.
Status Gradient(GradBuilder& b, GradArgs& args) {
  if (args.wants(0)) args.input_grads[0] = b.TenonOp("ReluGrad", {args.output_grads[0], args.inputs[1]});
  return {};
}

}  // namespace

void DefineOp_relu_grad(OpRegistry& ops) {
  ops.DefineTenon("ReluGrad")
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
