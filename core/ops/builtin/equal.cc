// Equal(A, B) = whether A = B, elementwise with numpy broadcasting -> bool; false where one is NaN. ONNX Equal, since opset 7.
#include "core/ops/comparison.h"

namespace tenon {
namespace {

Status Reference(const ReferenceArgs& args) {
  return CompareElements(args, [](auto a, auto b) { return a == b; });
}

}  // namespace

void DefineOp_equal(OpRegistry& ops) {
  ops.Define("Equal")
      .Since(7)
      .Input("A", kAllTypes)
      .Input("B", kAllTypes)
      .Output("C")
      .Elementwise()
      .NoGradient()
      .Infer(InferBroadcastBool)
      .Reference(Reference);
}

}  // namespace tenon
