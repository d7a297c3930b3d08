// Sign(X) = -1, 0 or 1; NaN stays NaN. The derivative is 0 wherever there is one: nothing flows back. ONNX Sign, since
// opset 9.
#include "core/ops/elementwise.h"

namespace tenon {
namespace {

Status Reference(const ReferenceArgs& args) {
  ForNumeric(args.inputs[0].dtype(), [&]<class T>() {
    const T* x = args.inputs[0].data<T>();
    T* y = args.outputs[0].data<T>();
    for (std::int64_t i = 0; i < args.inputs[0].elements(); ++i) {
      const auto value = static_cast<Accumulator<T>>(x[i]);
      if (value != value) {
        y[i] = x[i];
      } else {
        y[i] = static_cast<T>(static_cast<Accumulator<T>>((value > 0 ? 1 : 0) - (value < 0 ? 1 : 0)));
      }
    }
  });
  return {};
}

}  // namespace

void DefineOp_sign(OpRegistry& ops) {
  ops.Define("Sign")
      .Since(9)
      .Input("input", kNumericTypes)
      .Output("output")
      .Elementwise()
      .InPlace(0, 0)
      .Infer(InferSameAsFirst)
      .Reference(Reference)
      .NoGradient();
}

}  // namespace tenon
