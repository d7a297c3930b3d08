// tenon.PReluGrad(dY, X, slope) -> dX, dSlope: dX = dY where X > 0, else slope * dY; dSlope = the sum of dY * min(X, 0) over
// the axes along which slope was broadcast. X and slope are the inputs of PRelu.
#include <vector>

#include "core/ops/elementwise.h"

namespace tenon {
namespace {

Status Infer(InferContext& context) {
  const SymShape &dy = context.shape(0), &x = context.shape(1), &slope = context.shape(2);
  TENON_INVALID_IF(!(dy == x), "dY has shape {}, but X has {}.", dy, x);
  TENON_ASSIGN(const SymShape both, Broadcast(x, slope));
  TENON_INVALID_IF(!(both == x), "slope has shape {}, which does not broadcast to X {}.", slope, x);
  context.SetOutput(0, context.dtype(0), x);
  context.SetOutput(1, context.dtype(0), slope);
  return {};
}

template <class T>
void Differentiate(const ReferenceArgs& args) {
  using A = Accumulator<T>;
  const Tensor &x = args.inputs[1], &slope = args.inputs[2];
  const T *dy = args.inputs[0].data<T>(), *px = x.data<T>(), *ps = slope.data<T>();
  T* dx = args.wants(0) ? args.outputs[0].data<T>() : nullptr;
  std::vector<double> sums(static_cast<std::size_t>(slope.elements()));
  ForEachBroadcast(x.shape(), x.shape(), slope.shape(), [&](std::int64_t i, std::int64_t, std::int64_t is) {
    const A grad = static_cast<A>(dy[i]), value = static_cast<A>(px[i]);
    if (!(value > 0)) sums[static_cast<std::size_t>(is)] += static_cast<double>(grad) * static_cast<double>(value);
    if (dx != nullptr) dx[i] = static_cast<T>(value > 0 ? grad : grad * static_cast<A>(ps[is]));
  });
  if (!args.wants(1)) return;
  T* dslope = args.outputs[1].data<T>();
  for (std::size_t k = 0; k < sums.size(); ++k) dslope[k] = static_cast<T>(static_cast<A>(sums[k]));
}

Status Reference(const ReferenceArgs& args) {
  ForFloating(args.inputs[0].dtype(), [&]<class T>() { Differentiate<T>(args); });
  return {};
}

}  // namespace

void DefineOp_p_relu_grad(OpRegistry& ops) {
  ops.DefineTenon("PReluGrad")
      .Input("dY", kFloatingTypes)
      .Input("X", kFloatingTypes)
      .Input("slope", kFloatingTypes)
      .Output("dX")
      .OptionalOutput("dSlope")
      .InPlace(0, 0)
      .Infer(Infer)
      .Reference(Reference);
}

}  // namespace tenon
