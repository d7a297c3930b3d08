// Ceil(X) = least whole number that is not below X. The derivative is 0 wherever there is one: nothing flows
// back. ONNX Ceil, since opset 6.
#include <cmath>

#include "core/ops/elementwise.h"

namespace tenon {
namespace {

Status Reference(const ReferenceArgs& args) {
  return MapFloating(args, [](auto x) { return std::ceil(x); });
}

}  // namespace

void DefineOp_ceil(OpRegistry& ops) {
  ops.Define("Ceil")
      .Since(6)
      .Input("X", kFloatingTypes)
      .Output("Y")
      .Elementwise()
      .InPlace(0, 0)
      .Infer(InferSameAsFirst)
      .Reference(Reference)
      .NoGradient();
}

}  // namespace tenon
