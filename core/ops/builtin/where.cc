// Where(condition, X, Y) = X where the condition holds, else Y, elementwise with numpy broadcasting of all three. ONNX
// Where, since opset 9.
#include <cstring>

#include "core/ops/broadcast.h"
#include "core/ops/flops.h"
#include "core/ops/op_def.h"

namespace tenon {
namespace {

Status Infer(InferContext& context) {
  TENON_ASSIGN(const SymShape sides, Broadcast(context.shape(1), context.shape(2)));
  TENON_ASSIGN(const SymShape out, Broadcast(context.shape(0), sides));
  context.SetOutput(0, context.dtype(1), out);
  return {};
}

Status Reference(const ReferenceArgs& args) {
  const Tensor &x = args.inputs[1], &y = args.inputs[2];
  Tensor& out = args.outputs[0];
  const bool* condition = args.inputs[0].data<bool>();
  const auto size = static_cast<std::size_t>(SizeOf(x.dtype()));
  const auto *from_x = static_cast<const char*>(x.raw()), *from_y = static_cast<const char*>(y.raw());
  auto* to = static_cast<char*>(out.raw());
  const auto strides = [&](const Tensor& input) { return BroadcastStrides(input.shape(), out.shape()); };
  ForEachStrided<3>(out.shape(), {strides(args.inputs[0]), strides(x), strides(y)},
                    [&](std::int64_t i, const std::array<std::int64_t, 3>& at) {
                      const char* from = condition[at[0]] ? from_x + static_cast<std::size_t>(at[1]) * size
                                                          : from_y + static_cast<std::size_t>(at[2]) * size;
                      std::memcpy(to + static_cast<std::size_t>(i) * size, from, size);
                    });
  return {};
}

// Each side gets dY where it was taken and 0 elsewhere, summed over what was broadcast.
Status Gradient(GradBuilder& b, GradArgs& args) {
  const Value condition = args.inputs[0], dy = args.output_grads[0];
  const auto side = [&](std::size_t i, Value if_true, Value if_false) {
    if (args.wants(i))
      args.input_grads[i] = b.SumToShape(b.Op("Where", {condition, if_true, if_false}), b.type(args.inputs[i]).shape);
  };
  if (!args.wants(1) && !args.wants(2)) return {};
  const Value zero = b.ScalarLike(dy, 0);
  side(1, dy, zero);
  side(2, zero, dy);
  return {};
}

}  // namespace

void DefineOp_where(OpRegistry& ops) {
  ops.Define("Where")
      .Flops(NoFlops)
      .Since(9)
      .Input("condition", kBoolType, "B")
      .Input("X", kAllTypes)
      .Input("Y", kAllTypes)
      .Output("output")
      .Elementwise()
      .Infer(Infer)
      .Reference(Reference)
      .Gradient(Gradient);
}

}  // namespace tenon
