// Pow(X, Y) = X^Y, elementwise with numpy broadcasting, in the dtype of X; integers wrap, and an integer to a negative
// power is an error. ONNX Pow, since opset 7 (other dtypes of Y since 12).
#include <cmath>

#include "core/ops/elementwise.h"

namespace tenon {
namespace {

template <class T>
T IntegerPower(T base, std::int64_t exponent) {
  T result{1};
  for (std::int64_t left = exponent; left > 0; left >>= 1) {
    if ((left & 1) != 0) result = Combine(result, base, [](auto a, auto b) { return a * b; });
    base = Combine(base, base, [](auto a, auto b) { return a * b; });
  }
  return result;
}

template <class T>
Status Integers(const Tensor& x, const Tensor& y, Tensor& out) {
  const Tensor exponents = Cast(y, DType::kI64);
  std::int64_t negative = 0;
  ForEachBroadcast(out.shape(), x.shape(), y.shape(), [&](std::int64_t i, std::int64_t ix, std::int64_t iy) {
    const std::int64_t exponent = exponents.data<std::int64_t>()[iy];
    if (exponent < 0) negative = exponent;
    out.data<T>()[i] = IntegerPower(x.data<T>()[ix], exponent);
  });
  TENON_INVALID_IF(negative < 0, "Pow raises an integer ({}) to a negative power ({}).", NameOf(x.dtype()), negative);
  return {};
}

template <class T>
void Reals(const Tensor& x, const Tensor& y, Tensor& out) {
  using A = std::conditional_t<std::is_integral_v<T>, double, Accumulator<T>>;
  const Tensor exponents = Cast(y, kDTypeOf<A>);
  ForEachBroadcast(out.shape(), x.shape(), y.shape(), [&](std::int64_t i, std::int64_t ix, std::int64_t iy) {
    out.data<T>()[i] = static_cast<T>(std::pow(static_cast<A>(x.data<T>()[ix]), exponents.data<A>()[iy]));
  });
}

Status Reference(const ReferenceArgs& args) {
  const Tensor &x = args.inputs[0], &y = args.inputs[1];
  Status status;
  ForNumeric(x.dtype(), [&]<class T>() {
    if constexpr (std::is_integral_v<T>) {
      if (IsInteger(y.dtype())) {
        status = Integers<T>(x, y, args.outputs[0]);
        return;
      }
    }
    Reals<T>(x, y, args.outputs[0]);
  });
  return status;
}

// One operator gives both sides, with the limits at 0; each side sums what was broadcast.
Status Gradient(GradBuilder& b, GradArgs& args) {
  const Value inputs[] = {args.output_grads[0], args.inputs[0], args.inputs[1]};
  const bool both = args.wants(1) && b.type(args.inputs[1]).dtype == b.type(args.inputs[0]).dtype;
  const auto grads = b.Apply("tenon", "PowGrad", inputs, {}, both ? 2 : 1);
  if (args.wants(0)) args.input_grads[0] = b.SumToShape(grads[0], b.type(args.inputs[0]).shape);
  if (both) args.input_grads[1] = b.SumToShape(grads[1], b.type(args.inputs[1]).shape);
  return {};
}

}  // namespace

void DefineOp_pow(OpRegistry& ops) {
  ops.Define("Pow")
      .InLowPrecision(LowPrecision::kLosesDigits)
      .Since(7)
      .Input("X", kNumericTypes)
      .Input("Y", kNumericTypes, "T1")
      .Output("Z")
      .Elementwise()
      .InPlace(0, 0)
      .Infer(InferBroadcast)
      .Reference(Reference)
      .Gradient(Gradient);
}

}  // namespace tenon
