// Round(X) = nearest whole number, halves to the even one. The derivative is 0 wherever there is one: nothing flows
// back. ONNX Round, since opset 11.
#include <cmath>

#include "core/ops/elementwise.h"

namespace tenon {
namespace {

// Without the rounding mode of the processor, which a library may have changed.
template <class A>
A HalfToEven(A x) {
  const A down = std::floor(x), rest = x - down;
  if (rest != A(0.5)) return rest < A(0.5) ? std::copysign(down, x) : (std::isnan(x) ? x : std::ceil(x));
  return std::fmod(down, A(2)) == 0 ? std::copysign(down, x) : std::ceil(x);
}

Status Reference(const ReferenceArgs& args) {
  return MapFloating(args, [](auto x) { return HalfToEven(x); });
}

}  // namespace

void DefineOp_round(OpRegistry& ops) {
  ops.Define("Round")
      .Since(11)
      .Input("X", kFloatingTypes)
      .Output("Y")
      .Elementwise()
      .InPlace(0, 0)
      .Infer(InferSameAsFirst)
      .Reference(Reference)
      .NoGradient();
}

}  // namespace tenon
