// Mod(A, B; fmod = 0) = remainder of A / B, elementwise with numpy broadcasting: of the sign of B (integers only), with fmod
// of the sign of A. An integer modulo 0 is an error. ONNX Mod, since opset 10.
#include <cmath>

#include "core/ops/elementwise.h"

namespace tenon {
namespace {

Status Infer(InferContext& context) {
  TENON_INVALID_IF(IsFloating(context.dtype(0)) && context.attrs().Int("fmod") == 0,
                   "Mod of {} needs fmod 1; fmod 0 is for integers.", NameOf(context.dtype(0)));
  return InferBroadcast(context);
}

template <class T>
T Remainder(T a, T b, bool sign_of_dividend) {
  if constexpr (std::is_integral_v<T>) {
    if constexpr (std::is_signed_v<T>) {
      if (b == -1) return 0;  // the least value by -1 does not fit
    }
    const T rest = static_cast<T>(a % b);
    return rest != 0 && !sign_of_dividend && (rest < 0) != (b < 0) ? static_cast<T>(rest + b) : rest;
  } else {
    return static_cast<T>(std::fmod(static_cast<Accumulator<T>>(a), static_cast<Accumulator<T>>(b)));
  }
}

Status Reference(const ReferenceArgs& args) {
  const Tensor &a = args.inputs[0], &b = args.inputs[1];
  const bool fmod = args.attrs.Int("fmod") != 0;
  bool by_zero = false;
  ForNumeric(a.dtype(), [&]<class T>() {
    ForEachBroadcast(args.outputs[0].shape(), a.shape(), b.shape(),
                     [&](std::int64_t i, std::int64_t ia, std::int64_t ib) {
                       const T divisor = b.data<T>()[ib];
                       const bool zero = std::is_integral_v<T> && divisor == T(0);
                       by_zero = by_zero || zero;
                       args.outputs[0].data<T>()[i] = zero ? T(0) : Remainder<T>(a.data<T>()[ia], divisor, fmod);
                     });
  });
  TENON_INVALID_IF(by_zero, "Mod takes an integer ({}) modulo 0.", NameOf(a.dtype()));
  return {};
}

// Y = A - B trunc(A / B): dA = dY, dB = -dY trunc(A / B), which is dY (Y - A) / B.
Status Gradient(GradBuilder& b, GradArgs& args) {
  const Value dy = args.output_grads[0], x = args.inputs[0], divisor = args.inputs[1];
  if (args.wants(0)) args.input_grads[0] = b.SumToShape(dy, b.type(x).shape);
  if (args.wants(1)) {
    const Value quotient = b.Div(b.Sub(args.outputs[0], x), divisor);
    args.input_grads[1] = b.SumToShape(b.Mul(dy, quotient), b.type(divisor).shape);
  }
  return {};
}

}  // namespace

void DefineOp_mod(OpRegistry& ops) {
  ops.Define("Mod")
      .Since(10)
      .Input("A", kNumericTypes)
      .Input("B", kNumericTypes)
      .Output("C")
      .Attr("fmod", 0)
      .Elementwise()
      .InPlace(0, 0)
      .Infer(Infer)
      .Reference(Reference)
      .Gradient(Gradient);
}

}  // namespace tenon
