// Add(A, B) = A + B, elementwise with numpy broadcasting; integers wrap. ONNX Add, since opset 7.
#include "core/ops/elementwise.h"

namespace tenon {
namespace {

Status Reference(const ReferenceArgs& args) {
  return BroadcastNumeric(args, [](auto a, auto b) { return a + b; });
}

// d(A + B) = dA + dB; each side sums what was broadcast.
Status Gradient(GradBuilder& b, GradArgs& args) {
  const Value dy = args.output_grads[0];
  for (std::size_t i = 0; i < 2; ++i) {
    if (args.wants(i)) args.input_grads[i] = b.SumToShape(dy, b.type(args.inputs[i]).shape);
  }
  return {};
}

}  // namespace

void DefineOp_add(OpRegistry& ops) {
  ops.Define("Add")
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
