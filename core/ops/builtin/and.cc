// And(A, B) = whether both A and B hold, elementwise with numpy broadcasting -> bool. ONNX And, since opset 7.
#include "core/ops/comparison.h"

namespace tenon {
namespace {

Status Reference(const ReferenceArgs& args) {
  return CompareElements(args, [](auto a, auto b) { return a && b; });
}

}  // namespace

void DefineOp_and(OpRegistry& ops) {
  ops.Define("And")
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
