// tenon.LeakyReluGrad(dY, X; alpha) = dY where X >= 0, else alpha * dY, elementwise; X is the input of LeakyRelu.
#include "core/ops/elementwise.h"

namespace tenon {
namespace {

Status Reference(const ReferenceArgs& args) {
  const double alpha = args.attrs.Float("alpha");
  return ZipFloating(args, [alpha](auto dy, auto x) { return x < 0 ? static_cast<decltype(dy)>(alpha) * dy : dy; });
}

// Linear in dY with the same slopes; X only selects.
Status Gradient(GradBuilder& b, GradArgs& args) {
  if (args.wants(0))
    args.input_grads[0] = b.TenonOp("LeakyReluGrad", {args.output_grads[0], args.inputs[1]}, args.attrs);
  return {};
}

}  // namespace

void DefineOp_leaky_relu_grad(OpRegistry& ops) {
  ops.DefineTenon("LeakyReluGrad")
      .Input("dY", kFloatingTypes)
      .Input("X", kFloatingTypes)
      .Output("dX")
      .Attr("alpha", 0.01)
      .Elementwise()
      .InPlace(0, 0)
      .InPlace(0, 1)
      .Infer(InferSameShapes)
      .Reference(Reference)
      .Gradient(Gradient);
}

}  // namespace tenon
