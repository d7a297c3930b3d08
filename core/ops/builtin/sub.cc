// Sub(A, B) = A - B, elementwise with numpy broadcasting; integers wrap. ONNX Sub, since opset 7.
#include "core/ops/elementwise.h"

namespace tenon {
namespace {

Status Reference(const ReferenceArgs& args) {
  return BroadcastNumeric(args, [](auto a, auto b) { return a - b; });
}

// dA = dC, dB = -dC; each side sums what was broadcast.
Status Gradient(GradBuilder& b, GradArgs& args) {
  const Value dy = args.output_grads[0];
  if (args.wants(0)) args.input_grads[0] = b.SumToShape(dy, b.type(args.inputs[0]).shape);
  if (args.wants(1)) args.input_grads[1] = b.Neg(b.SumToShape(dy, b.type(args.inputs[1]).shape));
  return {};
}

}  // namespace

void DefineOp_sub(OpRegistry& ops) {
  ops.Define("Sub")
      .Since(7)
      .Input("A", kNumericTypes)
      .Input("B", kNumericTypes)
      .Output("C")
      .Elementwise()
      .InPlace(0, 0)
      .InPlace(0, 1)
      .Infer(InferBroadcast)
      .Reference(Reference)
      .Gradient(Gradient);
}

}  // namespace tenon
