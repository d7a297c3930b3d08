// Identity(X) = X. ONNX Identity, since opset 1.
#include <cstring>

#include "core/ops/op_def.h"

namespace tenon {
namespace {

Status Reference(const ReferenceArgs& args) {
  const Tensor& x = args.inputs[0];
  if (x.bytes() > 0 && args.outputs[0].raw() != x.raw()) {
    std::memcpy(args.outputs[0].raw(), x.raw(), static_cast<std::size_t>(x.bytes()));
  }
  return {};
}

Status Gradient(GradBuilder&, GradArgs& args) {
  args.input_grads[0] = args.output_grads[0];
  return {};
}

}  // namespace

void DefineOp_identity(OpRegistry& ops);
void DefineOp_identity(OpRegistry& ops) {
  ops.Define("Identity").Input("X", kAllTypes).Output("Y").Elementwise().InPlace(0, 0).ViewOfInput()
      .Infer(InferSameAsFirst).Reference(Reference).Gradient(Gradient);
}

}  // namespace tenon
