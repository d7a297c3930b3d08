// Greater(A, B) = whether A > B, elementwise with numpy broadcasting -> bool; false where one is NaN. ONNX Greater, since opset 7.
#include "core/ops/comparison.h"

namespace tenon {
namespace {

Status Reference(const ReferenceArgs& args) {
  return CompareElements(args, [](auto a, auto b) { return a > b; });
}

}  // namespace

void DefineOp_greater(OpRegistry& ops) {
  ops.Define("Greater")
      .Since(7)
      .Input("A", kNumericTypes)
      .Input("B", kNumericTypes)
      .Output("C")
      .Elementwise()
      .NoGradient()
      .Infer(InferBroadcastBool)
      .Reference(Reference);
}

}  // namespace tenon
