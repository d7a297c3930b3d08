// tenon.HardSwishGrad(dY, X) = 0 where X <= -3, dY where X >= 3, else dY * (X / 3 + 1 / 2). X is the input of HardSwish.
#include "core/ops/elementwise.h"

namespace tenon {
namespace {

Status Reference(const ReferenceArgs& args) {
  return ZipFloating(args, [](auto dy, auto x) {
    using A = decltype(dy);
    return x <= -3 ? A{0} : x >= 3 ? dy : dy * (x / 3 + A{0.5});
  });
}

// Linear in dY; by X it is U * dY / 3 between -3 and 3, which is where HardSigmoid with these values has a slope.
Status Gradient(GradBuilder& b, GradArgs& args) {
  const Value u = args.output_grads[0], dy = args.inputs[0], x = args.inputs[1];
  if (args.wants(0)) args.input_grads[0] = b.TenonOp("HardSwishGrad", {u, x});
  if (args.wants(1)) {
    const Value sixth = b.TenonOp("HardSigmoidGrad", {b.Mul(u, dy), x}, {{"alpha", 1.0 / 6}, {"beta", 0.5}});
    args.input_grads[1] = b.Add(sixth, sixth);
  }
  return {};
}

}  // namespace

void DefineOp_hard_swish_grad(OpRegistry& ops) {
  ops.DefineTenon("HardSwishGrad")
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
