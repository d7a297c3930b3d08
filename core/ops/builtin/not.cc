// Not(X) = whether X does not hold, elementwise. ONNX Not, since opset 1.
#include "core/ops/op_def.h"

namespace tenon {
namespace {

Status Infer(InferContext& context) {
  context.SetOutput(0, DType::kBool, context.shape(0));
  return {};
}

Status Reference(const ReferenceArgs& args) {
  const bool* x = args.inputs[0].data<bool>();
  for (std::int64_t i = 0; i < args.inputs[0].elements(); ++i) args.outputs[0].data<bool>()[i] = !x[i];
  return {};
}

}  // namespace

void DefineOp_not(OpRegistry& ops) {
  ops.Define("Not")
      .Since(1)
      .Input("X", kBoolType)
      .Output("Y")
      .InPlace(0, 0)
      .Elementwise()
      .NoGradient()
      .Infer(Infer)
      .Reference(Reference);
}

}  // namespace tenon
