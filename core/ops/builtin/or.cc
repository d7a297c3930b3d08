// Or(A, B) = whether A or B or both hold, elementwise with numpy broadcasting -> bool. ONNX Or, since opset 7.
#include "core/ops/comparison.h"

namespace tenon {
namespace {

Status Reference(const ReferenceArgs& args) {
  return CompareElements(args, [](auto a, auto b) { return a || b; });
}

}  // namespace

void DefineOp_or(OpRegistry& ops) {
  ops.Define("Or")
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
