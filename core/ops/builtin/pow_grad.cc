// tenon.PowGrad(dZ, X, Y) -> dX = dZ * Y * X^(Y-1), dY = dZ * X^Y * log(X), both in the broadcast shape. Where Y = 0, dX is
// 0; where X = 0 and Y >= 0, dY is 0.
#include <cmath>

#include "core/ops/elementwise.h"

namespace tenon {
namespace {

Status Infer(InferContext& context) {
  TENON_ASSIGN(const SymShape shape, Broadcast(context.shape(1), context.shape(2)));
  TENON_INVALID_IF(!(context.shape(0) == shape), "dZ has shape {}; X {} and Y {} give {}.", context.shape(0),
                   context.shape(1), context.shape(2), shape);
  context.SetOutput(0, context.dtype(0), shape);
  context.SetOutput(1, context.dtype(0), shape);
  return {};
}

template <class T>
void Differentiate(const ReferenceArgs& args) {
  using A = Accumulator<T>;
  const Tensor &x = args.inputs[1], &y = args.inputs[2];
  const Tensor exponents = Cast(y, kDTypeOf<A>);
  const T* dz = args.inputs[0].data<T>();
  T* dx = args.wants(0) ? args.outputs[0].data<T>() : nullptr;
  T* dy = args.wants(1) ? args.outputs[1].data<T>() : nullptr;
  ForEachBroadcast(args.inputs[0].shape(), x.shape(), y.shape(), [&](std::int64_t i, std::int64_t ix, std::int64_t iy) {
    const A grad = static_cast<A>(dz[i]), base = static_cast<A>(x.data<T>()[ix]), power = exponents.data<A>()[iy];
    if (dx != nullptr) dx[i] = static_cast<T>(power == 0 ? A{0} : grad * power * std::pow(base, power - 1));
    if (dy != nullptr) {
      const bool flat = base == 0 && power >= 0;
      dy[i] = static_cast<T>(flat ? A{0} : grad * std::pow(base, power) * std::log(base));
    }
  });
}

Status Reference(const ReferenceArgs& args) {
  ForFloating(args.inputs[0].dtype(), [&]<class T>() { Differentiate<T>(args); });
  return {};
}

}  // namespace

void DefineOp_pow_grad(OpRegistry& ops) {
  ops.DefineTenon("PowGrad")
      .Input("dZ", kFloatingTypes)
      .Input("X", kFloatingTypes)
      .Input("Y", kNumericTypes, "T1")
      .Output("dX")
      .OptionalOutput("dY")
      .Infer(Infer)
      .Reference(Reference);
}

}  // namespace tenon
