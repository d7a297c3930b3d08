// Xor(A, B) = whether exactly one of A and B holds, elementwise with numpy broadcasting -> bool. ONNX Xor, since opset 7.
#include "core/ops/comparison.h"

namespace tenon {
namespace {

Status Reference(const ReferenceArgs& args) {
  return CompareElements(args, [](auto a, auto b) { return a != b; });
}

}  // namespace

void DefineOp_xor(OpRegistry& ops) {
  ops.Define("Xor")
      .Since(7)
      .Input("A", kBoolType)
      .Input("B", kBoolType)
      .Output("C")
      .Elementwise()
      .NoGradient()
      .Infer(InferBroadcastBool)
      .Reference(Reference);
}

}  // namespace tenon
