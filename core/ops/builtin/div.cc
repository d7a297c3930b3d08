// Div(A, B) = A / B, elementwise with numpy broadcasting. Integers truncate toward zero; an integer division by zero is
// an error, that of floats follows IEEE 754. ONNX Div, since opset 7.
#include "core/ops/elementwise.h"

namespace tenon {
namespace {

template <class T>
T Quotient(T a, T b) {
  if constexpr (std::is_signed_v<T> && std::is_integral_v<T>) {
    if (b == -1) return Combine(T{0}, a, [](auto x, auto y) { return x - y; });  // the least value wraps to itself
  }
  return static_cast<T>(a / b);
}

Status Reference(const ReferenceArgs& args) {
  const Tensor &a = args.inputs[0], &b = args.inputs[1];
  Tensor& out = args.outputs[0];
  std::int64_t divided_by_zero = -1;
  ForNumeric(a.dtype(), [&]<class T>() {
    const T *pa = a.data<T>(), *pb = b.data<T>();
    T* y = out.data<T>();
    ForEachBroadcast(out.shape(), a.shape(), b.shape(), [&](std::int64_t i, std::int64_t ia, std::int64_t ib) {
      if constexpr (std::is_integral_v<T>) {
        if (pb[ib] == 0) {
          if (divided_by_zero < 0) divided_by_zero = ib;
        } else {
          y[i] = Quotient<T>(pa[ia], pb[ib]);
        }
      } else {
        y[i] = Combine(pa[ia], pb[ib], [](auto x, auto d) { return x / d; });
      }
    });
  });
  TENON_INVALID_IF(divided_by_zero >= 0, "Div divides integers ({}) by zero: element {} of B is 0.", NameOf(a.dtype()),
                   divided_by_zero);
  return {};
}

// dA = dC / B, dB = -dC * C / B; each side sums what was broadcast.
Status Gradient(GradBuilder& b, GradArgs& args) {
  const Value share = b.Div(args.output_grads[0], args.inputs[1]);
  if (args.wants(0)) args.input_grads[0] = b.SumToShape(share, b.type(args.inputs[0]).shape);
  if (args.wants(1)) {
    args.input_grads[1] = b.SumToShape(b.Neg(b.Mul(share, args.outputs[0])), b.type(args.inputs[1]).shape);
  }
  return {};
}

}  // namespace

void DefineOp_div(OpRegistry& ops) {
  ops.Define("Div")
      .Since(7)
      .Input("A", kNumericTypes)
      .Input("B", kNumericTypes)
      .Output("C")
      .Elementwise()
      .InPlace(0, 0)
      .InPlace(0, 1)
      .Infer(InferBroadcast)
      .Reference(Reference)
      .Gradient(Gradient);
}

}  // namespace tenon
