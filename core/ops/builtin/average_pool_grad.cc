// tenon.AveragePoolGrad(dY; x_shape) -> dX: every dY, divided by what AveragePool divided by, is added to the elements of
// its window. Windows are explicit: kernel_shape, strides, dilations, pads, ceil_mode.
#include <vector>

#include "core/ops/average_window.h"

namespace tenon {
namespace {

Status Infer(InferContext& context) {
  TENON_ASSIGN(const Shape x, Shape::Make(context.attrs().Ints("x_shape")));
  const SymShape& dy = context.shape(0);
  TENON_ASSIGN(const SymShape spatial, WindowOutputs(context.attrs(), x, KernelOf(context.attrs())));
  SymShape expected{x[0], x[1]};
  for (const Dim dim : spatial.dims()) expected.push_back(dim);
  TENON_INVALID_IF(!(dy == expected), "dY has shape {}; the pooling of {} gives {}.", dy, x, expected);
  context.SetOutput(0, context.dtype(0), x);
  return {};
}

Status Reference(const ReferenceArgs& args) {
  const Tensor& dy = args.inputs[0];
  Tensor& dx = args.outputs[0];
  const Window win = ResolveWindow(args.attrs, dx.shape(), KernelOf(args.attrs));
  const bool include_pad = args.attrs.Int("count_include_pad") != 0;
  const std::int64_t in = win.inputs(), out = win.outputs();
  ForFloating(dy.dtype(), [&]<class T>() {
    using A = Accumulator<T>;
    std::vector<A> sums(static_cast<std::size_t>(dx.elements()), A{0});
    for (std::int64_t plane = 0; plane < win.batch * win.channels; ++plane) {
      ForEachOutput(win, [&](std::int64_t o, std::int64_t o0, std::int64_t o1, std::int64_t o2) {
        const A share =
            static_cast<A>(dy.data<T>()[plane * out + o]) / static_cast<A>(Divisor(win, include_pad, o0, o1, o2));
        ForEachTap(win, o0, o1, o2,
                   [&](std::int64_t p, std::int64_t) { sums[static_cast<std::size_t>(plane * in + p)] += share; });
      });
    }
    for (std::size_t i = 0; i < sums.size(); ++i) dx.data<T>()[i] = static_cast<T>(sums[i]);
  });
  return {};
}

// Linear in dY: a gradient U of dX gives dY the pooling of U.
Status Gradient(GradBuilder& b, GradArgs& args) {
  Attributes attrs = args.attrs;
  attrs.Erase("x_shape");
  args.input_grads[0] = b.Op("AveragePool", {args.output_grads[0]}, attrs);
  return {};
}

}  // namespace

void DefineOp_average_pool_grad(OpRegistry& ops) {
  OpDef& op = ops.DefineTenon("AveragePoolGrad")
                  .Input("dY", kFloatingTypes)
                  .Output("dX")
                  .RequiredAttr("x_shape", AttrType::kInts)
                  .Attr("count_include_pad", 0)
                  .Infer(Infer)
                  .Reference(Reference)
                  .Gradient(Gradient);
  DefinePoolAttributes(op);
}

}  // namespace tenon
