// IsInf(X; detect_negative, detect_positive) -> bool: whether an element is infinite with a sign that is looked for. ONNX
// IsInf, since opset 10.
#include <cmath>

#include "core/ops/op_def.h"

namespace tenon {
namespace {

Status Infer(InferContext& context) {
  context.SetOutput(0, DType::kBool, context.shape(0));
  return {};
}

Status Reference(const ReferenceArgs& args) {
  const bool positive = args.attrs.Int("detect_positive") != 0, negative = args.attrs.Int("detect_negative") != 0;
  ForFloating(args.inputs[0].dtype(), [&]<class T>() {
    const T* x = args.inputs[0].data<T>();
    for (std::int64_t i = 0; i < args.inputs[0].elements(); ++i) {
      const auto value = static_cast<Accumulator<T>>(x[i]);
      args.outputs[0].data<bool>()[i] = std::isinf(value) && (value > 0 ? positive : negative);
    }
  });
  return {};
}

}  // namespace

void DefineOp_is_inf(OpRegistry& ops) {
  ops.Define("IsInf")
      .Since(10)
      .Input("X", kFloatingTypes)
      .Output("Y")
      .Attr("detect_negative", 1)
      .Attr("detect_positive", 1)
      .Elementwise()
      .NoGradient()
      .Infer(Infer)
      .Reference(Reference);
}

}  // namespace tenon
