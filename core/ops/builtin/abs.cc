// Abs(X) = |X|, elementwise; the least value of a signed integer type wraps to itself. ONNX Abs, since opset 6.
#include <cmath>

#include "core/ops/elementwise.h"

namespace tenon {
namespace {

Status Reference(const ReferenceArgs& args) {
  ForNumeric(args.inputs[0].dtype(), [&]<class T>() {
    const T* x = args.inputs[0].data<T>();
    T* y = args.outputs[0].data<T>();
    const std::int64_t count = args.outputs[0].elements();
    for (std::int64_t i = 0; i < count; ++i) {
      if constexpr (std::is_integral_v<T>) {
        y[i] = x[i] < T{0} ? Combine(T{0}, x[i], [](auto a, auto b) { return a - b; }) : x[i];
      } else {
        y[i] = static_cast<T>(std::abs(static_cast<Accumulator<T>>(x[i])));
      }
    }
  });
  return {};
}

Status Gradient(GradBuilder& b, GradArgs& args) {
  args.input_grads[0] = b.TenonOp("AbsGrad", {args.output_grads[0], args.inputs[0]});
  return {};
}

}  // namespace

void DefineOp_abs(OpRegistry& ops) {
  ops.Define("Abs")
      .Since(6)
      .Input("X", kNumericTypes)
      .Output("Y")
      .Elementwise()
      .InPlace(0, 0)
      .Infer(InferSameAsFirst)
      .Reference(Reference)
      .Gradient(Gradient);
}

}  // namespace tenon
