// tenon.TileGrad(dY, repeats; x_shape) -> dX: dY summed over the repeats of Tile.
#include <vector>

#include "core/ops/op_def.h"
#include "core/ops/tiling.h"

namespace tenon {
namespace {

Status Infer(InferContext& context) {
  TENON_ASSIGN(const Shape x, Shape::Make(context.attrs().Ints("x_shape")));
  TENON_INVALID_IF(context.shape(0).rank() != x.rank(), "dY has shape {}; a tiling of {} has as many dims.",
                   context.shape(0), x);
  for (int axis = 0; axis < x.rank(); ++axis) {
    const Dim dim = context.shape(0)[axis];
    const bool fits = !dim.known() || (x[axis] == 0 ? dim.Is(0) : dim.value() % x[axis] == 0);
    TENON_INVALID_IF(!fits, "dY has shape {}, which is no tiling of {}.", context.shape(0), x);
  }
  context.SetOutput(0, context.dtype(0), x);
  return {};
}

Status Reference(const ReferenceArgs& args) {
  const Tensor& dy = args.inputs[0];
  Tensor& dx = args.outputs[0];
  ForFloating(dy.dtype(), [&]<class T>() {
    using A = Accumulator<T>;
    std::vector<A> sums(static_cast<std::size_t>(dx.elements()), A{0});
    ForEachTiled(dy.shape(), dx.shape(), [&](std::int64_t i, std::int64_t source) {
      sums[static_cast<std::size_t>(source)] += static_cast<A>(dy.data<T>()[i]);
    });
    for (std::size_t i = 0; i < sums.size(); ++i) dx.data<T>()[i] = static_cast<T>(sums[i]);
  });
  return {};
}

// Linear in dY: a gradient U of dX gives dY the same tiling of U.
Status Gradient(GradBuilder& b, GradArgs& args) {
  if (args.wants(0)) args.input_grads[0] = b.Op("Tile", {args.output_grads[0], args.inputs[1]});
  return {};
}

}  // namespace

void DefineOp_tile_grad(OpRegistry& ops) {
  ops.DefineTenon("TileGrad")
      .Input("dY", kFloatingTypes)
      .Input("repeats", {DType::kI64}, "T1")
      .Output("dX")
      .RequiredAttr("x_shape", AttrType::kInts)
      .Infer(Infer)
      .Reference(Reference)
      .Gradient(Gradient);
}

}  // namespace tenon
