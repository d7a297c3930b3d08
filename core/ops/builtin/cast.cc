// Cast(X; to): X converted to the dtype with ONNX's number `to`. Floats to integers truncate toward zero, to bool it is
// X != 0; a float beyond the range of an integer dtype has no defined result. ONNX Cast, since opset 6.
#include <cstring>

#include "core/ops/flops.h"
#include "core/ops/op_def.h"

namespace tenon {
namespace {

Status Infer(InferContext& context) {
  const std::int64_t number = context.attrs().Int("to");
  TENON_INVALID_IF(number < 0 || number > 63 || !kAllTypes.Has(static_cast<DType>(number)),
                   "Cast to dtype number {} is not supported; supported are {}.", number, kAllTypes.ToString());
  context.SetOutput(0, static_cast<DType>(number), context.shape(0));
  return {};
}

Status Reference(const ReferenceArgs& args) {
  const Tensor converted = Cast(args.inputs[0], args.outputs[0].dtype());
  if (converted.bytes() > 0) {
    std::memmove(args.outputs[0].raw(), converted.raw(), static_cast<std::size_t>(converted.bytes()));
  }
  return {};
}

// dX = dY converted back; nothing flows through integers.
Status Gradient(GradBuilder& b, GradArgs& args) {
  const DType from = b.type(args.inputs[0]).dtype;
  if (!IsFloating(from) || !args.output_grads[0] || !IsFloating(b.type(args.output_grads[0]).dtype)) return {};
  args.input_grads[0] = b.Op("Cast", {args.output_grads[0]}, {{"to", static_cast<std::int64_t>(from)}});
  return {};
}

}  // namespace

void DefineOp_cast(OpRegistry& ops) {
  ops.Define("Cast")
      .Flops(NoFlops)
      .Since(6)
      .Input("input", kAllTypes)
      .Output("output")
      .RequiredAttr("to", AttrType::kInt)
      .Attr("saturate", 1)
      .Elementwise()
      .Infer(Infer)
      .Reference(Reference)
      .Gradient(Gradient);
}

}  // namespace tenon
