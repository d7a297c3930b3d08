// Neg(X) = -X, elementwise; integers wrap. ONNX Neg, since opset 6.
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
        y[i] = Combine(T{0}, x[i], [](auto a, auto b) { return a - b; });
      } else {
        y[i] = static_cast<T>(-static_cast<Accumulator<T>>(x[i]));
      }
    }
  });
  return {};
}

Status Gradient(GradBuilder& b, GradArgs& args) {
  args.input_grads[0] = b.Neg(args.output_grads[0]);
  return {};
}

}  // namespace

void DefineOp_neg(OpRegistry& ops) {
  ops.Define("Neg")
      .Since(6)
      .Input("X", kSignedTypes)
      .Output("Y")
      .Elementwise()
      .InPlace(0, 0)
      .Infer(InferSameAsFirst)
      .Reference(Reference)
      .Gradient(Gradient);
}

}  // namespace tenon
