// LessOrEqual(A, B) = whether A <= B, elementwise with numpy broadcasting -> bool; false where one is NaN. ONNX LessOrEqual, since opset 12.
#include "core/ops/comparison.h"

namespace tenon {
namespace {

Status Reference(const ReferenceArgs& args) {
  return CompareElements(args, [](auto a, auto b) { return a <= b; });
}

}  // namespace

void DefineOp_less_or_equal(OpRegistry& ops) {
  ops.Define("LessOrEqual")
      .Since(12)
      .Input("A", kNumericTypes)
      .Input("B", kNumericTypes)
      .Output("C")
      .Elementwise()
      .NoGradient()
      .Infer(InferBroadcastBool)
      .Reference(Reference);
}

}  // namespace tenon
