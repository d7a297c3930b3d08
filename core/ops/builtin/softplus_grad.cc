// tenon.SoftplusGrad(dY, X) = dY / (1 + exp(-X)). X is the input of Softplus.
#include <cmath>

#include "core/ops/elementwise.h"

namespace tenon {
namespace {

Status Reference(const ReferenceArgs& args) {
  return ZipFloating(args, [](auto dy, auto x) {
    const auto e = std::exp(-std::abs(x));
    return dy * (x >= 0 ? 1 / (1 + e) : e / (1 + e));
  });
}

// Linear in dY; by X it is the gradient of Sigmoid.
Status Gradient(GradBuilder& b, GradArgs& args) {
  const Value u = args.output_grads[0], dy = args.inputs[0], x = args.inputs[1];
  if (args.wants(0)) args.input_grads[0] = b.TenonOp("SoftplusGrad", {u, x});
  if (args.wants(1)) args.input_grads[1] = b.TenonOp("SigmoidGrad", {b.Mul(u, dy), b.Op("Sigmoid", {x})});
  return {};
}

}  // namespace

void DefineOp_softplus_grad(OpRegistry& ops) {
  ops.DefineTenon("SoftplusGrad")
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
