// tenon.ConvInputGrad(dY, W; x_shape): the gradient of Conv with respect to X, dX[n, c, p] = sum over m, k and the o with
// o*stride - pad + k*dilation = p of dY[n,m,o] * W[m,c,k]. Windows are explicit: kernel_shape, strides, dilations, pads.
#include <vector>

#include "core/ops/conv.h"
#include "core/ops/flops.h"

namespace tenon {
namespace {

Status Infer(InferContext& context) {
  const auto& dims = context.attrs().Ints("x_shape");
  TENON_ASSIGN(const Shape x, Shape::Make(dims));
  const SymShape& w = context.shape(1);
  TENON_INVALID_IF(w.rank() != x.rank() || x.rank() < 3 || x.rank() > 5,
                   "x_shape {} and W {} must have one rank, 3 to 5.", x, w);
  TENON_TRY(CheckConvOutput(context.attrs(), x, w, context.shape(0)));
  context.SetOutput(0, context.dtype(0), x);
  return {};
}

template <class T>
void Scatter(const ConvGeometry& g, const T* dy, const T* w, T* dx) {
  using A = Accumulator<T>;
  const Window& win = g.window;
  const std::int64_t in = win.inputs(), out = win.outputs(), taps = win.taps();
  std::vector<A> sums(static_cast<std::size_t>(win.channels * in));
  for (std::int64_t n = 0; n < win.batch; ++n) {
    std::fill(sums.begin(), sums.end(), A{0});
    for (std::int64_t m = 0; m < g.out_channels; ++m) {
      A* image = sums.data() + g.FirstInputOf(m) * in;
      const T* filter = w + m * g.in_per_group * taps;
      const T* grad = dy + (n * g.out_channels + m) * out;
      ForEachOutput(win, [&](std::int64_t o, std::int64_t o0, std::int64_t o1, std::int64_t o2) {
        for (std::int64_t c = 0; c < g.in_per_group; ++c) {
          ForEachTap(win, o0, o1, o2, [&](std::int64_t p, std::int64_t k) {
            image[c * in + p] += static_cast<A>(grad[o]) * static_cast<A>(filter[c * taps + k]);
          });
        }
      });
    }
    for (std::int64_t i = 0; i < win.channels * in; ++i) {
      dx[n * win.channels * in + i] = static_cast<T>(sums[static_cast<std::size_t>(i)]);
    }
  }
}

Status Reference(const ReferenceArgs& args) {
  const ConvGeometry geometry = ConvGeometryOf(args.attrs, args.outputs[0].shape(), args.inputs[1].shape());
  ForFloating(args.inputs[0].dtype(), [&]<class T>() {
    Scatter(geometry, args.inputs[0].data<T>(), args.inputs[1].data<T>(), args.outputs[0].data<T>());
  });
  return {};
}

// Bilinear in dY and W: for a gradient U of dX, dY gets Conv(U, W) and W gets ConvWeightGrad(U, dY).
Status Gradient(GradBuilder& b, GradArgs& args) {
  Attributes attrs = args.attrs;
  attrs.Erase("x_shape");
  const Value u = args.output_grads[0];
  if (args.wants(0)) args.input_grads[0] = b.Op("Conv", {u, args.inputs[1]}, attrs);
  if (args.wants(1)) args.input_grads[1] = b.TenonOp("ConvWeightGrad", {u, args.inputs[0]}, attrs);
  return {};
}

}  // namespace

void DefineOp_conv_input_grad(OpRegistry& ops) {
  ops.DefineTenon("ConvInputGrad")
      .Flops([](const FlopArgs& args) { return ConvFlops(args.input(0), args.input(1)); })
      .Input("dY", kFloatingTypes)
      .Input("W", kFloatingTypes)
      .Output("dX")
      .RequiredAttr("x_shape", AttrType::kInts)
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
