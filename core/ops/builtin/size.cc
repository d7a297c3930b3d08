// Size(X) -> int64 scalar: how many elements X has. ONNX Size, since opset 1.
#include "core/ops/flops.h"
#include "core/ops/op_def.h"

namespace tenon {
namespace {

Status Infer(InferContext& context) {
  context.SetOutput(0, DType::kI64, SymShape{});
  return {};
}

Status Reference(const ReferenceArgs& args) {
  *args.outputs[0].data<std::int64_t>() = args.inputs[0].elements();
  return {};
}

}  // namespace

void DefineOp_size(OpRegistry& ops) {
  ops.Define("Size")
      .Flops(NoFlops)
      .Input("data", kAllTypes)
      .Output("size")
      .FromShapes()
      .NoGradient()
      .Infer(Infer)
      .Reference(Reference);
}

}  // namespace tenon
