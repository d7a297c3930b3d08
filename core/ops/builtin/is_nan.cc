// IsNaN(X) -> bool: whether an element is NaN. ONNX IsNaN, since opset 9.
#include <cmath>

#include "core/ops/op_def.h"

namespace tenon {
namespace {

Status Infer(InferContext& context) {
  context.SetOutput(0, DType::kBool, context.shape(0));
  return {};
}

Status Reference(const ReferenceArgs& args) {
  ForFloating(args.inputs[0].dtype(), [&]<class T>() {
    const T* x = args.inputs[0].data<T>();
    for (std::int64_t i = 0; i < args.inputs[0].elements(); ++i) {
      args.outputs[0].data<bool>()[i] = std::isnan(static_cast<Accumulator<T>>(x[i]));
    }
  });
  return {};
}

}  // namespace

void DefineOp_is_nan(OpRegistry& ops) {
  ops.Define("IsNaN")
      .Since(9)
      .Input("X", kFloatingTypes)
      .Output("Y")
      .Elementwise()
      .NoGradient()
      .Infer(Infer)
      .Reference(Reference);
}

}  // namespace tenon
