// Relu(X) = max(X, 0), elementwise; NaN stays NaN. ONNX Relu, since opset 6.
#include "core/ops/elementwise.h"

namespace tenon {
namespace {

Status Reference(const ReferenceArgs& args) {
  ForNumeric(args.inputs[0].dtype(), [&]<class T>() {
    const T* x = args.inputs[0].data<T>();
    T* y = args.outputs[0].data<T>();
    const std::int64_t count = args.outputs[0].elements();
    for (std::int64_t i = 0; i < count; ++i) y[i] = x[i] <= T(0) ? T(0) : x[i];  // false for NaN
  });
  return {};
}

// dX = dY where Y > 0, else 0.
Status Gradient(GradBuilder& b, GradArgs& args) {
  args.input_grads[0] = b.TenonOp("ReluGrad", {args.output_grads[0], args.outputs[0]});
  return {};
}

}  // namespace

void DefineOp_relu(OpRegistry& ops) {
  ops.Define("Relu")
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
