// Resize(X, roi, scales, sizes): X sampled on a grid of another extent; every output element shows the nearest input
// element, or the linear blend of its neighbours, at the position that coordinate_transformation_mode gives, and the border
// beyond it. Modes that need roi, cubic and antialias are refused by name. ONNX Resize: scales only, asymmetric and floor
// since opset 10; since opset 11 as above (axes 18, half_pixel_symmetric 19).
#include <cstring>
#include <vector>

#include "core/ops/resizing.h"

namespace tenon {
namespace {

// Opset 10 knew one grid.
Attributes LegacyAttributes(const Attributes& attrs) {
  return {{"mode", attrs.Text("mode")},
          {"coordinate_transformation_mode", std::string("asymmetric")},
          {"nearest_mode", std::string("floor")}};
}

Status InferFrom(InferContext& context, const Attributes& attrs, int scales, int sizes) {
  TENON_ASSIGN(const ResizeSettings settings, ResizeSettingsOf(attrs));
  for (const int i : {scales, sizes}) {
    TENON_INVALID_IF(i >= 0 && context.has_input(i) && context.constant(i) == nullptr,
                     "Resize input {} must be a constant: the output shape depends on its values.", i);
  }
  TENON_INVALID_IF(settings.mode == ResizeMode::kLinear && !IsFloating(context.dtype(0)),
                   "Resize mode linear takes floating dtypes; X is {}.", NameOf(context.dtype(0)));
  const ResizeRequest request =
      ResizeRequestOf(context.constant(scales), sizes < 0 ? nullptr : context.constant(sizes));
  TENON_ASSIGN(const SymShape out, ResizeOutput(settings, request, context.shape(0)));
  context.SetOutput(0, context.dtype(0), out);
  return {};
}

// Extents around one axis: [outer, axis, inner]; axes before it have their new extent, those after it the old one.
struct Stage {
  std::int64_t outer = 1, inner = 1;
};

Stage StageOf(const std::vector<ResizeAxis>& axes, std::size_t k) {
  Stage stage;
  for (std::size_t i = 0; i < k; ++i) stage.outer *= axes[i].output;
  for (std::size_t i = k + 1; i < axes.size(); ++i) stage.inner *= axes[i].input;
  return stage;
}

template <class A>
std::vector<A> Blend(const std::vector<A>& x, const ResizeAxis& axis, const Stage& stage) {
  std::vector<A> y(static_cast<std::size_t>(stage.outer * axis.output * stage.inner));
  for (std::int64_t o = 0; o < stage.outer; ++o) {
    for (std::int64_t k = 0; k < axis.output; ++k) {
      const auto at = static_cast<std::size_t>(k);
      const A weight = static_cast<A>(axis.weight[at]);
      for (std::int64_t i = 0; i < stage.inner; ++i) {
        const A low = x[static_cast<std::size_t>((o * axis.input + axis.low[at]) * stage.inner + i)];
        const A high = x[static_cast<std::size_t>((o * axis.input + axis.high[at]) * stage.inner + i)];
        y[static_cast<std::size_t>((o * axis.output + k) * stage.inner + i)] =
            weight == 0 ? low : low * (1 - weight) + high * weight;
      }
    }
  }
  return y;
}

std::vector<char> Pick(const std::vector<char>& x, const ResizeAxis& axis, const Stage& stage, std::int64_t size) {
  const std::int64_t bytes = stage.inner * size;
  std::vector<char> y(static_cast<std::size_t>(stage.outer * axis.output * bytes));
  for (std::int64_t o = 0; o < stage.outer && bytes > 0; ++o) {
    for (std::int64_t k = 0; k < axis.output; ++k) {
      std::memcpy(y.data() + (o * axis.output + k) * bytes,
                  x.data() + (o * axis.input + axis.low[static_cast<std::size_t>(k)]) * bytes,
                  static_cast<std::size_t>(bytes));
    }
  }
  return y;
}

void Nearest(const Tensor& x, const std::vector<ResizeAxis>& axes, Tensor& y) {
  const auto* from = static_cast<const char*>(x.raw());
  std::vector<char> values(from, from + x.bytes());
  for (std::size_t k = 0; k < axes.size(); ++k) {
    if (axes[k].changes) values = Pick(values, axes[k], StageOf(axes, k), SizeOf(x.dtype()));
  }
  if (y.bytes() > 0) std::memcpy(y.raw(), values.data(), values.size());
}

void Linear(const Tensor& x, const std::vector<ResizeAxis>& axes, Tensor& y) {
  ForFloating(x.dtype(), [&]<class T>() {
    using A = Accumulator<T>;
    std::vector<A> values(x.data<T>(), x.data<T>() + x.elements());
    for (std::size_t k = 0; k < axes.size(); ++k) {
      if (axes[k].changes) values = Blend(values, axes[k], StageOf(axes, k));
    }
    for (std::size_t i = 0; i < values.size(); ++i) y.data<T>()[i] = static_cast<T>(values[i]);
  });
}

Status Sample(const ReferenceArgs& args, const Attributes& attrs, std::size_t scales, std::size_t sizes) {
  const Tensor& x = args.inputs[0];
  TENON_ASSIGN(const ResizeSettings settings, ResizeSettingsOf(attrs));
  const ResizeRequest request = ResizeRequestOf(args.has(scales) ? &args.inputs[scales] : nullptr,
                                                args.has(sizes) ? &args.inputs[sizes] : nullptr);
  const auto axes = ResizeAxes(settings, request, x.shape(), args.outputs[0].shape());
  if (settings.mode == ResizeMode::kNearest) {
    Nearest(x, axes, args.outputs[0]);
  } else {
    Linear(x, axes, args.outputs[0]);
  }
  return {};
}

// dX = dY spread with the weights with which it was blended.
Status Grad(GradBuilder& b, GradArgs& args, Attributes attrs, std::size_t scales, std::size_t sizes) {
  if (!args.wants(0)) return {};
  const auto optional = [&](std::size_t i) { return i < args.inputs.size() ? args.inputs[i] : Value{}; };
  const Shape x = b.type(args.inputs[0]).shape.Concrete();
  attrs.Set("x_shape", std::vector<std::int64_t>(x.dims().begin(), x.dims().end()));
  args.input_grads[0] = b.TenonOp("ResizeGrad", {args.output_grads[0], optional(scales), optional(sizes)}, attrs);
  return {};
}

Attributes GradAttributes(const Attributes& attrs) {
  Attributes out;
  for (const char* name : {"mode", "coordinate_transformation_mode", "nearest_mode", "axes"}) {
    if (const AttrValue* value = attrs.Find(name)) out.Set(name, *value);
  }
  return out;
}

}  // namespace

void DefineOp_resize(OpRegistry& ops) {
  constexpr std::size_t kNone = 99;
  ops.Define("Resize")
      .Since(10)
      .Input("X", kAllTypes)
      .Input("scales", {DType::kF32}, "scales")
      .Output("Y")
      .Attr("mode", "nearest")
      .Infer([](InferContext& context) { return InferFrom(context, LegacyAttributes(context.attrs()), 1, -1); })
      .Reference([](const ReferenceArgs& args) { return Sample(args, LegacyAttributes(args.attrs), 1, kNone); })
      .Gradient([](GradBuilder& b, GradArgs& args) { return Grad(b, args, LegacyAttributes(args.attrs), 1, kNone); });
  ops.Define("Resize")
      .Since(11)
      .Input("X", kAllTypes)
      .OptionalInput("roi", kFloatingTypes, "roi")
      .OptionalInput("scales", {DType::kF32}, "scales")
      .OptionalInput("sizes", {DType::kI64}, "sizes")
      .Output("Y")
      .Attr("mode", "nearest")
      .Attr("coordinate_transformation_mode", "half_pixel")
      .Attr("nearest_mode", "round_prefer_floor")
      .Attr("antialias", 0)
      .Attr("cubic_coeff_a", -0.75)
      .Attr("exclude_outside", 0)
      .Attr("extrapolation_value", 0.0)
      .Attr("keep_aspect_ratio_policy", "stretch")
      .OptionalAttr("axes", AttrType::kInts)
      .Infer([](InferContext& context) { return InferFrom(context, context.attrs(), 2, 3); })
      .Reference([](const ReferenceArgs& args) { return Sample(args, args.attrs, 2, 3); })
      .Gradient([](GradBuilder& b, GradArgs& args) { return Grad(b, args, GradAttributes(args.attrs), 2, 3); });
}

}  // namespace tenon
