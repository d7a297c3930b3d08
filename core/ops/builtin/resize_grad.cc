// tenon.ResizeGrad(dY, scales, sizes; x_shape, mode, ..) -> dX: every element of dY added to the elements of dX that Resize
// blended into it, with their weights.
#include <vector>

#include "core/ops/resizing.h"

namespace tenon {
namespace {

Status Infer(InferContext& context) {
  TENON_ASSIGN(const Shape x, Shape::Make(context.attrs().Ints("x_shape")));
  TENON_TRY(ResizeSettingsOf(context.attrs()));
  TENON_INVALID_IF(context.shape(0).rank() != x.rank(), "dY has shape {}; a resized {} has as many dims.",
                   context.shape(0), x);
  context.SetOutput(0, context.dtype(0), x);
  return {};
}

// One axis back from its new extent to the old one; axes before it still have their new extent.
template <class A>
std::vector<A> Spread(const std::vector<A>& dy, const std::vector<ResizeAxis>& axes, std::size_t k) {
  const ResizeAxis& axis = axes[k];
  std::int64_t outer = 1, inner = 1;
  for (std::size_t i = 0; i < k; ++i) outer *= axes[i].output;
  for (std::size_t i = k + 1; i < axes.size(); ++i) inner *= axes[i].input;
  std::vector<A> dx(static_cast<std::size_t>(outer * axis.input * inner), A{0});
  for (std::int64_t o = 0; o < outer; ++o) {
    for (std::int64_t j = 0; j < axis.output; ++j) {
      const auto at = static_cast<std::size_t>(j);
      const A weight = static_cast<A>(axis.weight[at]);
      for (std::int64_t i = 0; i < inner; ++i) {
        const A value = dy[static_cast<std::size_t>((o * axis.output + j) * inner + i)];
        dx[static_cast<std::size_t>((o * axis.input + axis.low[at]) * inner + i)] += value * (1 - weight);
        if (weight != 0) dx[static_cast<std::size_t>((o * axis.input + axis.high[at]) * inner + i)] += value * weight;
      }
    }
  }
  return dx;
}

Status Reference(const ReferenceArgs& args) {
  const Tensor& dy = args.inputs[0];
  Tensor& dx = args.outputs[0];
  TENON_ASSIGN(const ResizeSettings settings, ResizeSettingsOf(args.attrs));
  const ResizeRequest request =
      ResizeRequestOf(args.has(1) ? &args.inputs[1] : nullptr, args.has(2) ? &args.inputs[2] : nullptr);
  const auto axes = ResizeAxes(settings, request, dx.shape(), dy.shape());
  ForFloating(dy.dtype(), [&]<class T>() {
    using A = Accumulator<T>;
    std::vector<A> values(dy.data<T>(), dy.data<T>() + dy.elements());
    for (std::size_t k = axes.size(); k-- > 0;) {
      if (axes[k].changes) values = Spread(values, axes, k);
    }
    for (std::size_t i = 0; i < values.size(); ++i) dx.data<T>()[i] = static_cast<T>(values[i]);
  });
  return {};
}

// Linear in dY: a gradient U of dX gives dY the same resize of U.
Status Gradient(GradBuilder& b, GradArgs& args) {
  const auto optional = [&](std::size_t i) { return i < args.inputs.size() ? args.inputs[i] : Value{}; };
  Attributes attrs = args.attrs;
  attrs.Erase("x_shape");
  if (args.wants(0)) {
    args.input_grads[0] = b.Op("Resize", {args.output_grads[0], Value{}, optional(1), optional(2)}, attrs);
  }
  return {};
}

}  // namespace

void DefineOp_resize_grad(OpRegistry& ops) {
  ops.DefineTenon("ResizeGrad")
      .Input("dY", kFloatingTypes)
      .OptionalInput("scales", {DType::kF32}, "scales")
      .OptionalInput("sizes", {DType::kI64}, "sizes")
      .Output("dX")
      .RequiredAttr("x_shape", AttrType::kInts)
      .Attr("mode", "nearest")
      .Attr("coordinate_transformation_mode", "half_pixel")
      .Attr("nearest_mode", "round_prefer_floor")
      .OptionalAttr("axes", AttrType::kInts)
      .Infer(Infer)
      .Reference(Reference)
      .Gradient(Gradient);
}

}  // namespace tenon
