// tenon.SliceGrad(dY, starts, ends, axes, steps; x_shape) -> dX: zeros, and dY at the places that Slice took.
#include <algorithm>

#include "core/ops/broadcast.h"
#include "core/ops/slicing.h"

namespace tenon {
namespace {

Status Infer(InferContext& context) {
  TENON_ASSIGN(const Shape x, Shape::Make(context.attrs().Ints("x_shape")));
  TENON_INVALID_IF(context.shape(0).rank() != x.rank(), "dY has shape {}; a slice of {} has as many dims.",
                   context.shape(0), x);
  context.SetOutput(0, context.dtype(0), x);
  return {};
}

Status Reference(const ReferenceArgs& args) {
  const Tensor& dy = args.inputs[0];
  Tensor& dx = args.outputs[0];
  TENON_ASSIGN(const SliceRequest request, SliceRequestOf(args, 1, dx.shape().rank()));
  const auto axes = SliceAxes(request, dx.shape());
  const auto own = ContiguousStrides(dx.shape());
  std::array<std::int64_t, kMaxRank> strides{};
  std::int64_t first = 0;
  for (int axis = 0; axis < dx.shape().rank(); ++axis) {
    const auto i = static_cast<std::size_t>(axis);
    TENON_INVALID_IF(axes[i].count != dy.shape()[axis], "dY has shape {}; the slice has {} elements along axis {}.",
                     dy.shape(), axes[i].count, axis);
    first += axes[i].start * own[i];
    strides[i] = axes[i].count > 1 ? axes[i].step * own[i] : 0;
  }
  ForFloating(dy.dtype(), [&]<class T>() {
    std::fill_n(dx.data<T>(), dx.elements(), T(0));
    ForEachStrided<1>(dy.shape(), {strides}, [&](std::int64_t i, const std::array<std::int64_t, 1>& at) {
      dx.data<T>()[first + at[0]] = dy.data<T>()[i];
    });
  });
  return {};
}

// Linear in dY: a gradient U of dX gives dY the same slice of U.
Status Gradient(GradBuilder& b, GradArgs& args) {
  const auto optional = [&](std::size_t i) { return i < args.inputs.size() ? args.inputs[i] : Value{}; };
  if (args.wants(0)) {
    args.input_grads[0] =
        b.Op("Slice", {args.output_grads[0], args.inputs[1], args.inputs[2], optional(3), optional(4)});
  }
  return {};
}

}  // namespace

void DefineOp_slice_grad(OpRegistry& ops) {
  ops.DefineTenon("SliceGrad")
      .Input("dY", kFloatingTypes)
      .Input("starts", kIndexTypes, "Tind")
      .Input("ends", kIndexTypes, "Tind")
      .OptionalInput("axes", kIndexTypes, "Tind")
      .OptionalInput("steps", kIndexTypes, "Tind")
      .Output("dX")
      .RequiredAttr("x_shape", AttrType::kInts)
      .Infer(Infer)
      .Reference(Reference)
      .Gradient(Gradient);
}

}  // namespace tenon
