// tenon.ConvWeightGrad(X, dY) -> dW, dB: the gradients of Conv with respect to W and B,
// dW[m,c,k] = sum over n, o of dY[n,m,o] * X[n, c, o*stride - pad + k*dilation], dB[m] = sum over n, o of dY[n,m,o].
// Windows are explicit: kernel_shape, strides, dilations, pads.
#include <vector>

#include "core/ops/conv.h"
#include "core/ops/flops.h"

namespace tenon {
namespace {

Result<SymShape> WeightShape(const Attributes& attrs, const SymShape& x, const SymShape& dy) {
  TENON_INVALID_IF(x.rank() != dy.rank() || x.rank() < 3 || x.rank() > 5, "X {} and dY {} must have one rank, 3 to 5.",
                   x, dy);
  const std::int64_t group = attrs.Int("group");
  TENON_INVALID_IF(group < 1 || !x[1].known() || x[1].value() % group != 0,
                   "The {} channels of X do not divide into {} groups.", x[1], group);
  SymShape w{dy[1], x[1].value() / group};
  for (const std::int64_t k : attrs.Ints("kernel_shape")) w.push_back(k);
  return w;
}

Status Infer(InferContext& context) {
  const SymShape &x = context.shape(0), &dy = context.shape(1);
  TENON_ASSIGN(const SymShape w, WeightShape(context.attrs(), x, dy));
  TENON_TRY(CheckConvOutput(context.attrs(), x, w, dy));
  context.SetOutput(0, context.dtype(0), w);
  context.SetOutput(1, context.dtype(0), SymShape{dy[1]});
  return {};
}

template <class T>
void Correlate(const ConvGeometry& g, const T* x, const T* dy, T* dw) {
  using A = Accumulator<T>;
  const Window& win = g.window;
  const std::int64_t in = win.inputs(), out = win.outputs(), taps = win.taps();
  std::vector<A> sums(static_cast<std::size_t>(g.in_per_group * taps));
  for (std::int64_t m = 0; m < g.out_channels; ++m) {
    std::fill(sums.begin(), sums.end(), A{0});
    for (std::int64_t n = 0; n < win.batch; ++n) {
      const T* image = x + (n * win.channels + g.FirstInputOf(m)) * in;
      const T* grad = dy + (n * g.out_channels + m) * out;
      ForEachOutput(win, [&](std::int64_t o, std::int64_t o0, std::int64_t o1, std::int64_t o2) {
        for (std::int64_t c = 0; c < g.in_per_group; ++c) {
          A* filter = sums.data() + c * taps;
          ForEachTap(win, o0, o1, o2, [&](std::int64_t p, std::int64_t k) {
            filter[k] += static_cast<A>(grad[o]) * static_cast<A>(image[c * in + p]);
          });
        }
      });
    }
    for (std::size_t i = 0; i < sums.size(); ++i) {
      dw[m * g.in_per_group * taps + static_cast<std::int64_t>(i)] = static_cast<T>(sums[i]);
    }
  }
}

template <class T>
void SumChannels(const Shape& shape, const T* dy, T* db) {
  using A = Accumulator<T>;
  std::int64_t area = 1;
  for (int axis = 2; axis < shape.rank(); ++axis) area *= shape[axis];
  for (std::int64_t m = 0; m < shape[1]; ++m) {
    A sum{0};
    for (std::int64_t n = 0; n < shape[0]; ++n) {
      for (std::int64_t i = 0; i < area; ++i) sum += static_cast<A>(dy[(n * shape[1] + m) * area + i]);
    }
    db[m] = static_cast<T>(sum);
  }
}

Status Reference(const ReferenceArgs& args) {
  const Tensor &x = args.inputs[0], &dy = args.inputs[1];
  TENON_ASSIGN(const SymShape w, WeightShape(args.attrs, x.shape(), dy.shape()));
  const ConvGeometry geometry = ConvGeometryOf(args.attrs, x.shape(), w.Concrete());
  ForFloating(x.dtype(), [&]<class T>() {
    if (args.wants(0)) Correlate(geometry, x.data<T>(), dy.data<T>(), args.outputs[0].data<T>());
    if (args.wants(1)) SumChannels(dy.shape(), dy.data<T>(), args.outputs[1].data<T>());
  });
  return {};
}

// Bilinear in X and dY: for gradients U of dW and u of dB, X gets ConvInputGrad(dY, U) and dY gets Conv(X, U, u).
Status Gradient(GradBuilder& b, GradArgs& args) {
  const Value u = args.output_grads[0];
  const Value bias = args.output_grads.size() > 1 ? args.output_grads[1] : Value{};
  const SymShape dy = b.type(args.inputs[1]).shape;
  if (args.wants(0) && u) {
    Attributes attrs = args.attrs;
    const Shape x = b.type(args.inputs[0]).shape.Concrete();
    attrs.Set("x_shape", std::vector<std::int64_t>(x.dims().begin(), x.dims().end()));
    args.input_grads[0] = b.TenonOp("ConvInputGrad", {args.inputs[1], u}, attrs);
  }
  if (!args.wants(1)) return {};
  if (u) {
    args.input_grads[1] = b.Op("Conv", {args.inputs[0], u, bias}, args.attrs);
  } else if (bias) {
    Shape per_channel{dy[1].value()};
    for (int axis = 2; axis < dy.rank(); ++axis) per_channel.push_back(1);
    args.input_grads[1] = b.Op("Expand", {b.ReshapeTo(bias, per_channel), b.Ints(dy.Concrete().dims())});
  }
  return {};
}

}  // namespace

void DefineOp_conv_weight_grad(OpRegistry& ops) {
  ops.DefineTenon("ConvWeightGrad")
      .Flops([](const FlopArgs& args) { return ConvFlops(args.input(1), args.output(0)); })
      .Input("X", kFloatingTypes)
      .Input("dY", kFloatingTypes)
      .Output("dW")
      .OptionalOutput("dB")
      .RequiredAttr("kernel_shape", AttrType::kInts)
      .OptionalAttr("strides", AttrType::kInts)
      .OptionalAttr("pads", AttrType::kInts)
      .OptionalAttr("dilations", AttrType::kInts)
      .Attr("group", 1)
      .Infer(Infer)
      .Reference(Reference)
      .Gradient(Gradient);
}

}  // namespace tenon
