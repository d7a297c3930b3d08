// Floor(X) = greatest whole number that is not above X. The derivative is 0 wherever there is one: nothing flows
// back. ONNX Floor, since opset 6.
#include <cmath>

#include "core/ops/elementwise.h"

namespace tenon {
namespace {

Status Reference(const ReferenceArgs& args) {
  return MapFloating(args, [](auto x) { return std::floor(x); });
}

}  // namespace

void DefineOp_floor(OpRegistry& ops) {
  ops.Define("Floor")
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
