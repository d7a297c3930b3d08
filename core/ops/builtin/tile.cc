// Tile(X, repeats): X repeated repeats[i] times along each axis i. ONNX Tile, since opset 6.
#include <cstring>

#include "core/ops/flops.h"
#include "core/ops/op_def.h"
#include "core/ops/tiling.h"

namespace tenon {
namespace {

Status Infer(InferContext& context) {
  const SymShape& x = context.shape(0);
  TENON_INVALID_IF(context.shape(1).rank() != 1 || (context.shape(1)[0].known() && !context.shape(1)[0].Is(x.rank())),
                   "Tile of {} needs {} repeats; `repeats` has shape {}.", x, x.rank(), context.shape(1));
  SymShape out = x;
  const Tensor* known = context.constant(1);
  for (int axis = 0; axis < x.rank(); ++axis) {
    if (known == nullptr) {
      out.set_dim(axis, Dim::Unknown());
      continue;
    }
    const std::int64_t repeats = known->data<std::int64_t>()[axis];
    TENON_INVALID_IF(repeats < 0, "Tile repeats axis {} of {} a negative number of times ({}).", axis, x, repeats);
    out.set_dim(axis, x[axis] * Dim(repeats));
  }
  if (known != nullptr && out.known()) {
    TENON_ASSIGN(const Shape fits, Shape::Make(out.Concrete().dims()));
    static_cast<void>(fits);
  }
  context.SetOutput(0, context.dtype(0), out);
  return {};
}

Status Reference(const ReferenceArgs& args) {
  const Tensor& x = args.inputs[0];
  const auto size = static_cast<std::size_t>(SizeOf(x.dtype()));
  const auto* from = static_cast<const char*>(x.raw());
  auto* to = static_cast<char*>(args.outputs[0].raw());
  ForEachTiled(args.outputs[0].shape(), x.shape(), [&](std::int64_t i, std::int64_t source) {
    std::memcpy(to + static_cast<std::size_t>(i) * size, from + static_cast<std::size_t>(source) * size, size);
  });
  return {};
}

// dX = the sum of dY over the repeats.
Status Gradient(GradBuilder& b, GradArgs& args) {
  if (!args.wants(0)) return {};
  const Shape x = b.type(args.inputs[0]).shape.Concrete();
  args.input_grads[0] = b.TenonOp("TileGrad", {args.output_grads[0], args.inputs[1]},
                                  {{"x_shape", std::vector<std::int64_t>(x.dims().begin(), x.dims().end())}});
  return {};
}

}  // namespace

void DefineOp_tile(OpRegistry& ops) {
  ops.Define("Tile")
      .Flops(NoFlops)
      .InLowPrecision(LowPrecision::kMovesOnly)
      .Since(6)
      .Input("input", kAllTypes)
      .Input("repeats", {DType::kI64}, "T1")
      .Output("output")
      .Infer(Infer)
      .Reference(Reference)
      .Gradient(Gradient);
}

}  // namespace tenon
