// MaxPool(X) = greatest element of each window; padding never wins, NaN does. Indices are positions in the whole of X,
// flattened, of the first greatest element (of the first NaN). X is [N, C, D1 ..], one to three spatial axes. ONNX
// MaxPool, since opset 1 (Indices 8, ceil_mode and dilations 10).
#include <limits>

#include "core/ops/window.h"

namespace tenon {
namespace {

constexpr TypeSet kTypes = kFloatingTypes | TypeSet{DType::kI8, DType::kU8};

Status Infer(InferContext& context) {
  const SymShape& x = context.shape(0);
  TENON_INVALID_IF(context.attrs().Int("storage_order") != 0,
                   "MaxPool storage_order is {}; only row-major indices (0) are supported.",
                   context.attrs().Int("storage_order"));
  TENON_ASSIGN(const SymShape spatial, PoolOutputs(context.attrs(), x));
  SymShape out{x[0], x[1]};
  for (const Dim dim : spatial.dims()) out.push_back(dim);
  context.SetOutput(0, context.dtype(0), out);
  context.SetOutput(1, DType::kI64, out);
  return {};
}

template <class T>
T Least() {
  if constexpr (std::is_integral_v<T>) {
    return std::numeric_limits<T>::lowest();
  } else {
    return static_cast<T>(-std::numeric_limits<float>::infinity());
  }
}

template <class T>
void Pool(const Window& win, const T* x, T* y, std::int64_t* indices) {
  const std::int64_t in = win.inputs(), out = win.outputs();
  for (std::int64_t plane = 0; plane < win.batch * win.channels; ++plane) {
    ForEachOutput(win, [&](std::int64_t o, std::int64_t o0, std::int64_t o1, std::int64_t o2) {
      T best = Least<T>();
      std::int64_t at = -1;
      ForEachTap(win, o0, o1, o2, [&](std::int64_t p, std::int64_t) {
        const T value = x[plane * in + p];
        const bool better = value > best || (value != value && best == best);
        if (at < 0 || better) {
          best = value;
          at = plane * in + p;
        }
      });
      y[plane * out + o] = best;
      if (indices != nullptr) indices[plane * out + o] = at;
    });
  }
}

Status Reference(const ReferenceArgs& args) {
  const Tensor& x = args.inputs[0];
  const Window window = ResolveWindow(args.attrs, x.shape(), KernelOf(args.attrs));
  ForNumeric(x.dtype(), [&]<class T>() {
    Pool(window, x.data<T>(), args.outputs[0].data<T>(),
         args.wants(1) ? args.outputs[1].data<std::int64_t>() : nullptr);
  });
  return {};
}

// dX = dY scattered to the winners.
Status Gradient(GradBuilder& b, GradArgs& args) {
  const Shape x = b.type(args.inputs[0]).shape.Concrete();
  const Window window = ResolveWindow(args.attrs, x, KernelOf(args.attrs));
  Attributes attrs = ExplicitWindow(window, args.attrs);
  attrs.Set("x_shape", std::vector<std::int64_t>(x.dims().begin(), x.dims().end()));
  args.input_grads[0] = b.TenonOp("MaxPoolGrad", {args.output_grads[0], args.outputs[1]}, attrs);
  return {};
}

}  // namespace

void DefineOp_max_pool(OpRegistry& ops) {
  OpDef& op = ops.Define("MaxPool")
                  .InLowPrecision(LowPrecision::kMovesOnly)
                  .Input("X", kTypes)
                  .Output("Y")
                  .OptionalOutput("Indices")
                  .SavedForGradient(1)
                  .Attr("storage_order", 0)
                  .Infer(Infer)
                  .Reference(Reference)
                  .Gradient(Gradient);
  DefinePoolAttributes(op);
}

}  // namespace tenon
