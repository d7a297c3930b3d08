// AveragePool(X) = mean of each window; padding counts as zeros when count_include_pad = 1, else not at all. With
// ceil_mode, what lies behind the padding never counts. X is [N, C, D1 ..], one to three spatial axes. ONNX AveragePool,
// since opset 1 (count_include_pad 7, ceil_mode 10, dilations 19).
#include "core/ops/average_window.h"

namespace tenon {
namespace {

Status Infer(InferContext& context) {
  const SymShape& x = context.shape(0);
  TENON_ASSIGN(const SymShape spatial, PoolOutputs(context.attrs(), x));
  SymShape out{x[0], x[1]};
  for (const Dim dim : spatial.dims()) out.push_back(dim);
  context.SetOutput(0, context.dtype(0), out);
  return {};
}

template <class T>
void Pool(const Window& win, bool include_pad, const T* x, T* y) {
  using A = Accumulator<T>;
  const std::int64_t in = win.inputs(), out = win.outputs();
  for (std::int64_t plane = 0; plane < win.batch * win.channels; ++plane) {
    ForEachOutput(win, [&](std::int64_t o, std::int64_t o0, std::int64_t o1, std::int64_t o2) {
      A sum{0};
      ForEachTap(win, o0, o1, o2, [&](std::int64_t p, std::int64_t) { sum += static_cast<A>(x[plane * in + p]); });
      y[plane * out + o] = static_cast<T>(sum / static_cast<A>(Divisor(win, include_pad, o0, o1, o2)));
    });
  }
}

Status Reference(const ReferenceArgs& args) {
  const Tensor& x = args.inputs[0];
  const Window window = ResolveWindow(args.attrs, x.shape(), KernelOf(args.attrs));
  const bool include_pad = args.attrs.Int("count_include_pad") != 0;
  ForFloating(x.dtype(), [&]<class T>() { Pool(window, include_pad, x.data<T>(), args.outputs[0].data<T>()); });
  return {};
}

// dX = dY spread evenly over each window.
Status Gradient(GradBuilder& b, GradArgs& args) {
  const Shape x = b.type(args.inputs[0]).shape.Concrete();
  const Window window = ResolveWindow(args.attrs, x, KernelOf(args.attrs));
  Attributes attrs = ExplicitWindow(window, args.attrs, {"count_include_pad"});
  attrs.Set("x_shape", std::vector<std::int64_t>(x.dims().begin(), x.dims().end()));
  args.input_grads[0] = b.TenonOp("AveragePoolGrad", {args.output_grads[0]}, attrs);
  return {};
}

}  // namespace

void DefineOp_average_pool(OpRegistry& ops) {
  OpDef& op = ops.Define("AveragePool")
                  .Input("X", kFloatingTypes)
                  .Output("Y")
                  .Attr("count_include_pad", 0)
                  .Infer(Infer)
                  .Reference(Reference)
                  .Gradient(Gradient);
  DefinePoolAttributes(op);
}

}  // namespace tenon
