// Expand(X, shape): X repeated to the shape that X and `shape` broadcast to. ONNX Expand, since opset 8.
#include <cstring>

#include "core/ops/broadcast.h"
#include "core/ops/flops.h"
#include "core/ops/op_def.h"

namespace tenon {
namespace {

Status Infer(InferContext& context) {
  TENON_ASSIGN(const auto dims, context.ConstantInts(1));
  TENON_ASSIGN(const Shape wanted, Shape::Make(dims));
  TENON_ASSIGN(const SymShape out, Broadcast(context.shape(0), SymShape(wanted)));
  context.SetOutput(0, context.dtype(0), out);
  return {};
}

Status Reference(const ReferenceArgs& args) {
  const Tensor& x = args.inputs[0];
  Tensor& y = args.outputs[0];
  const auto size = static_cast<std::size_t>(SizeOf(x.dtype()));
  const auto* from = static_cast<const char*>(x.raw());
  auto* to = static_cast<char*>(y.raw());
  ForEachStrided<1>(
      y.shape(), {BroadcastStrides(x.shape(), y.shape())}, [&](std::int64_t i, const std::array<std::int64_t, 1>& at) {
        std::memcpy(to + static_cast<std::size_t>(i) * size, from + static_cast<std::size_t>(at[0]) * size, size);
      });
  return {};
}

Status Gradient(GradBuilder& b, GradArgs& args) {
  if (args.wants(0)) args.input_grads[0] = b.SumToShape(args.output_grads[0], b.type(args.inputs[0]).shape);
  return {};
}

}  // namespace

void DefineOp_expand(OpRegistry& ops) {
  ops.Define("Expand")
      .Flops(NoFlops)
      .InLowPrecision(LowPrecision::kMovesOnly)
      .Since(8)
      .Input("input", kAllTypes)
      .Input("shape", {DType::kI64}, "shape")
      .Output("output")
      .Infer(Infer)
      .Reference(Reference)
      .Gradient(Gradient);
}

}  // namespace tenon
