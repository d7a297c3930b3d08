// Conv(X, W, B): Y[n,m,o] = B[m] + sum over c, k of X[n, g*C/group + c, o*stride - pad + k*dilation] * W[m,c,k], where g
// is the group of output channel m; positions in the padding count as 0. X is [N, C, D1 ..], W is [M, C/group, k1 ..],
// one to three spatial axes. ONNX Conv, since opset 1.
#include "core/ops/conv.h"
#include "core/ops/flops.h"

namespace tenon {
namespace {

Status Infer(InferContext& context) {
  TENON_ASSIGN(const SymShape out, ConvOutput("Conv", context.attrs(), context.shape(0), context.shape(1)));
  TENON_INVALID_IF(context.has_input(2) && !(context.shape(2) == SymShape{out[1]}),
                   "Conv B has shape {}; W {} needs [{}].", context.shape(2), context.shape(1), out[1]);
  context.SetOutput(0, context.dtype(0), out);
  return {};
}

template <class T>
void Convolve(const ConvGeometry& g, const T* x, const T* w, const T* bias, T* y) {
  using A = Accumulator<T>;
  const Window& win = g.window;
  const std::int64_t in = win.inputs(), out = win.outputs(), taps = win.taps();
  for (std::int64_t n = 0; n < win.batch; ++n) {
    for (std::int64_t m = 0; m < g.out_channels; ++m) {
      const T* image = x + (n * win.channels + g.FirstInputOf(m)) * in;
      const T* filter = w + m * g.in_per_group * taps;
      T* result = y + (n * g.out_channels + m) * out;
      ForEachOutput(win, [&](std::int64_t o, std::int64_t o0, std::int64_t o1, std::int64_t o2) {
        A sum = bias ? static_cast<A>(bias[m]) : A{0};
        for (std::int64_t c = 0; c < g.in_per_group; ++c) {
          ForEachTap(win, o0, o1, o2, [&](std::int64_t p, std::int64_t k) {
            sum += static_cast<A>(image[c * in + p]) * static_cast<A>(filter[c * taps + k]);
          });
        }
        result[o] = static_cast<T>(sum);
      });
    }
  }
}

Status Reference(const ReferenceArgs& args) {
  const ConvGeometry geometry = ConvGeometryOf(args.attrs, args.inputs[0].shape(), args.inputs[1].shape());
  ForFloating(args.inputs[0].dtype(), [&]<class T>() {
    Convolve(geometry, args.inputs[0].data<T>(), args.inputs[1].data<T>(),
             args.has(2) ? args.inputs[2].data<T>() : nullptr, args.outputs[0].data<T>());
  });
  return {};
}

// dX and dW through the two gradient operators; dB comes with dW.
Status Gradient(GradBuilder& b, GradArgs& args) {
  const Value dy = args.output_grads[0];
  const Shape x = b.type(args.inputs[0]).shape.Concrete(), w = b.type(args.inputs[1]).shape.Concrete();
  const ConvGeometry geometry = ConvGeometryOf(args.attrs, x, w);
  Attributes attrs = ExplicitWindow(geometry.window, args.attrs, {"group"});
  if (args.wants(1) || args.wants(2)) {
    const Value inputs[] = {args.inputs[0], dy};
    const auto grads = b.Apply("tenon", "ConvWeightGrad", inputs, attrs, args.wants(2) ? 2 : 1);
    if (args.wants(1)) args.input_grads[1] = grads[0];
    if (args.wants(2)) args.input_grads[2] = grads[1];
  }
  if (args.wants(0)) {
    attrs.Set("x_shape", std::vector<std::int64_t>(x.dims().begin(), x.dims().end()));
    args.input_grads[0] = b.TenonOp("ConvInputGrad", {dy, args.inputs[1]}, attrs);
  }
  return {};
}

}  // namespace

void DefineOp_conv(OpRegistry& ops) {
  OpDef& op = ops.Define("Conv")
                  .Flops([](const FlopArgs& args) { return ConvFlops(args.output(0), args.input(1)); })
                  .InLowPrecision(LowPrecision::kGains)
                  .Input("X", kFloatingTypes)
                  .Input("W", kFloatingTypes)
                  .OptionalInput("B", kFloatingTypes)
                  .Output("Y")
                  .Attr("group", 1)
                  .Infer(Infer)
                  .Reference(Reference)
                  .Gradient(Gradient);
  DefineConvAttributes(op);
}

}  // namespace tenon
