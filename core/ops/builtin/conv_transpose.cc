// ConvTranspose(X, W, B): every X[n,c,p] adds X * W[c,m,k] to Y[n, m, p*stride - pad + k*dilation]: Conv with the roles of
// input and output exchanged. X is [N, C, D1 ..], W is [C, M/group, k1 ..], one to three spatial axes. The output extent is
// stride * (in - 1) + output_padding + (kernel - 1) * dilation + 1 - pads; auto_pad SAME_* gives in * stride, output_shape
// states it. ONNX ConvTranspose, since opset 1.
#include <algorithm>

#include "core/ops/conv.h"
#include "core/ops/flops.h"

namespace tenon {
namespace {

struct TransposedAxis {
  Dim output = 0;
  std::int64_t pad_begin = 0, pad_end = 0;
};

struct Lists {
  std::vector<std::int64_t> kernel, strides, dilations, pads, output_padding, output_shape;
};

Result<Lists> ListsOf(const Attributes& attrs, const Shape& w) {
  const std::vector<std::int64_t> kernel = KernelOfWeights(w);
  const std::size_t n = kernel.size();
  Lists lists{kernel,
              attrs.Ints("strides", std::vector<std::int64_t>(n, 1)),
              attrs.Ints("dilations", std::vector<std::int64_t>(n, 1)),
              attrs.Ints("pads", std::vector<std::int64_t>(2 * n, 0)),
              attrs.Ints("output_padding", std::vector<std::int64_t>(n, 0)),
              attrs.Ints("output_shape", {})};
  const auto stated = attrs.Ints("kernel_shape", kernel);
  TENON_INVALID_IF(stated != kernel, "ConvTranspose kernel_shape is [{}], but W has shape {}.", fmt::join(stated, ","),
                   w);
  TENON_INVALID_IF(lists.strides.size() != n || lists.dilations.size() != n || lists.pads.size() != 2 * n ||
                       lists.output_padding.size() != n ||
                       (!lists.output_shape.empty() && lists.output_shape.size() != n),
                   "ConvTranspose attributes must have {} values (pads {}) for W {}.", n, 2 * n, w);
  for (std::size_t i = 0; i < n; ++i) {
    TENON_INVALID_IF(lists.strides[i] < 1 || lists.dilations[i] < 1 || lists.pads[i] < 0 || lists.pads[i + n] < 0,
                     "ConvTranspose strides and dilations are at least 1 and pads at least 0.");
    for (const std::int64_t value :
         {lists.kernel[i], lists.strides[i], lists.dilations[i], lists.pads[i], lists.pads[i + n]}) {
      TENON_INVALID_IF(value > kLargestWindow,
                       "ConvTranspose has {} for spatial axis {}; the greatest kernel, stride, dilation and pad is {}.",
                       value, i, kLargestWindow);
    }
    TENON_INVALID_IF(lists.output_padding[i] < 0 || lists.output_padding[i] >= lists.strides[i],
                     "ConvTranspose output_padding {} of spatial axis {} must be below the stride ({}).",
                     lists.output_padding[i], i, lists.strides[i]);
  }
  return lists;
}

// Output extent and padding along spatial axis i for an input extent.
Result<TransposedAxis> AxisOf(const Attributes& attrs, const Lists& l, std::size_t i, Dim in) {
  TransposedAxis axis;
  const std::int64_t extent = (l.kernel[i] - 1) * l.dilations[i] + 1;
  const Dim whole = Dim(l.strides[i]) * (in - 1) + Dim(l.output_padding[i] + extent);
  const std::string auto_pad = attrs.Text("auto_pad");
  const bool same = auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER";
  TENON_INVALID_IF(!same && auto_pad != "NOTSET" && auto_pad != "VALID",
                   "auto_pad is '{}'; it can be NOTSET, VALID, SAME_UPPER or SAME_LOWER.", auto_pad);
  if (!same && l.output_shape.empty()) {
    if (auto_pad == "NOTSET") {
      axis.pad_begin = l.pads[i];
      axis.pad_end = l.pads[i + l.kernel.size()];
    }
    axis.output = whole - Dim(axis.pad_begin + axis.pad_end);
  } else {
    axis.output = l.output_shape.empty() ? in * Dim(l.strides[i]) : Dim(l.output_shape[i]);
    // stride * (in - 1) + .. - in * stride does not depend on in, so padding is known for symbolic inputs too.
    const Dim total = l.output_shape.empty() ? Dim(l.output_padding[i] + extent - l.strides[i]) : whole - axis.output;
    TENON_INVALID_IF(!total.known(), "ConvTranspose with output_shape needs known spatial dims; X has {}.", in);
    const std::int64_t padding = std::max<std::int64_t>(total.value(), 0);
    axis.pad_begin = auto_pad == "SAME_UPPER" ? padding / 2 : padding - padding / 2;
    axis.pad_end = padding - axis.pad_begin;
  }
  TENON_INVALID_IF(axis.output.known() && axis.output.value() < 1, "ConvTranspose gives spatial axis {} {} elements.",
                   i, axis.output);
  return axis;
}

Status Infer(InferContext& context) {
  const SymShape &x = context.shape(0), &w = context.shape(1);
  TENON_INVALID_IF(
      w.rank() != x.rank() || x.rank() < 3 || x.rank() > 5 || !w.known(),
      "ConvTranspose needs X [N, C, D1 ..] and W [C, M/group, k1 ..] of one rank (3 to 5), W with known dims; "
      "got X {} and W {}.",
      x, w);
  const std::int64_t group = context.attrs().Int("group");
  TENON_INVALID_IF(group < 1 || w[0].value() % group != 0, "ConvTranspose W {} does not divide into {} groups.", w,
                   group);
  TENON_INVALID_IF(!(x[1] == w[0]), "ConvTranspose X has {} channels, but W {} takes {}.", x[1], w, w[0]);
  const Dim channels = w[1] * Dim(group);
  TENON_INVALID_IF(context.has_input(2) && !(context.shape(2) == SymShape{channels}),
                   "ConvTranspose B has shape {}; W {} with group {} needs [{}].", context.shape(2), w, group,
                   channels);
  TENON_ASSIGN(const Lists lists, ListsOf(context.attrs(), w.Concrete()));
  SymShape out{x[0], channels};
  for (int i = 2; i < x.rank(); ++i) {
    TENON_ASSIGN(const TransposedAxis axis, AxisOf(context.attrs(), lists, static_cast<std::size_t>(i - 2), x[i]));
    out.push_back(axis.output);
  }
  context.SetOutput(0, context.dtype(0), out);
  return {};
}

// The convolution whose input gradient this is: its input is Y, its output X.
Result<ConvGeometry> GeometryOf(const Attributes& attrs, const Shape& x, const Shape& w, const Shape& y) {
  TENON_ASSIGN(const Lists lists, ListsOf(attrs, w));
  ConvGeometry g;
  g.group = attrs.Int("group");
  g.out_channels = w[0];
  g.in_per_group = w[1];
  g.window.batch = x[0];
  g.window.channels = y[1];
  g.window.rank = x.rank() - 2;
  const std::size_t n = lists.kernel.size();
  for (std::size_t i = 0; i < n; ++i) {
    const int dim = static_cast<int>(i) + 2;
    TENON_ASSIGN(const TransposedAxis padding, AxisOf(attrs, lists, i, x[dim]));
    g.window.axis[i + kMaxSpatialRank - n] = {
        y[dim], lists.kernel[i], lists.strides[i], lists.dilations[i], padding.pad_begin, padding.pad_end, x[dim]};
  }
  return g;
}

template <class T>
void Scatter(const ConvGeometry& g, const T* x, const T* w, const T* bias, T* y) {
  using A = Accumulator<T>;
  const Window& win = g.window;
  const std::int64_t in = win.inputs(), out = win.outputs(), taps = win.taps();
  std::vector<A> sums(static_cast<std::size_t>(win.channels * in));
  for (std::int64_t n = 0; n < win.batch; ++n) {
    for (std::int64_t i = 0; i < win.channels * in; ++i) {
      sums[static_cast<std::size_t>(i)] = bias ? static_cast<A>(bias[i / in]) : A{0};
    }
    for (std::int64_t m = 0; m < g.out_channels; ++m) {
      A* image = sums.data() + g.FirstInputOf(m) * in;
      ForEachOutput(win, [&](std::int64_t o, std::int64_t o0, std::int64_t o1, std::int64_t o2) {
        const A value = static_cast<A>(x[(n * g.out_channels + m) * out + o]);
        for (std::int64_t c = 0; c < g.in_per_group; ++c) {
          ForEachTap(win, o0, o1, o2, [&](std::int64_t p, std::int64_t k) {
            image[c * in + p] += value * static_cast<A>(w[(m * g.in_per_group + c) * taps + k]);
          });
        }
      });
    }
    for (std::size_t i = 0; i < sums.size(); ++i) {
      y[n * win.channels * in + static_cast<std::int64_t>(i)] = static_cast<T>(sums[i]);
    }
  }
}

Status Reference(const ReferenceArgs& args) {
  TENON_ASSIGN(const ConvGeometry geometry,
               GeometryOf(args.attrs, args.inputs[0].shape(), args.inputs[1].shape(), args.outputs[0].shape()));
  ForFloating(args.inputs[0].dtype(), [&]<class T>() {
    Scatter(geometry, args.inputs[0].data<T>(), args.inputs[1].data<T>(),
            args.has(2) ? args.inputs[2].data<T>() : nullptr, args.outputs[0].data<T>());
  });
  return {};
}

// dX = Conv(dY, W), dW = ConvWeightGrad(dY, X), dB = sums of dY per channel.
Status Gradient(GradBuilder& b, GradArgs& args) {
  const Value dy = args.output_grads[0];
  TENON_ASSIGN(const ConvGeometry geometry,
               GeometryOf(args.attrs, b.type(args.inputs[0]).shape.Concrete(), b.type(args.inputs[1]).shape.Concrete(),
                          b.type(args.outputs[0]).shape.Concrete()));
  const Attributes attrs = ExplicitWindow(geometry.window, args.attrs, {"group"});
  if (args.wants(0)) args.input_grads[0] = b.Op("Conv", {dy, args.inputs[1]}, attrs);
  if (args.wants(1)) args.input_grads[1] = b.TenonOp("ConvWeightGrad", {dy, args.inputs[0]}, attrs);
  if (args.wants(2)) {
    std::vector<std::int64_t> axes{0};
    for (int i = 2; i < b.type(dy).shape.rank(); ++i) axes.push_back(i);
    args.input_grads[2] = b.Op("ReduceSum", {dy, b.Ints(axes)}, {{"keepdims", std::int64_t{0}}});
  }
  return {};
}

}  // namespace

void DefineOp_conv_transpose(OpRegistry& ops) {
  OpDef& op = ops.Define("ConvTranspose")
                  .Flops([](const FlopArgs& args) { return ConvFlops(args.input(0), args.input(1)); })
                  .InLowPrecision(LowPrecision::kGains)
                  .Input("X", kFloatingTypes)
                  .Input("W", kFloatingTypes)
                  .OptionalInput("B", kFloatingTypes)
                  .Output("Y")
                  .Attr("group", 1)
                  .OptionalAttr("output_padding", AttrType::kInts)
                  .OptionalAttr("output_shape", AttrType::kInts)
                  .Infer(Infer)
                  .Reference(Reference)
                  .Gradient(Gradient);
  DefineConvAttributes(op);
}

}  // namespace tenon
