// tenon.ReduceMaxGrad(dY, X, Y) -> dX: dY shared evenly among the elements of X that equal their greatest value Y; dY and Y
// have 1 in place of every reduced dimension.
#include <vector>

#include "core/ops/broadcast.h"
#include "core/ops/op_def.h"

namespace tenon {
namespace {

Status Infer(InferContext& context) {
  const SymShape &dy = context.shape(0), &x = context.shape(1), &y = context.shape(2);
  TENON_ASSIGN(const SymShape spread, Broadcast(dy, x));
  TENON_INVALID_IF(!(dy == y) || dy.rank() != x.rank() || !(spread == x),
                   "dY has shape {} and Y {}; both must be X's {} with 1 in the reduced places.", dy, y, x);
  context.SetOutput(0, context.dtype(0), x);
  return {};
}

Status Reference(const ReferenceArgs& args) {
  const Tensor &dy = args.inputs[0], &x = args.inputs[1], &y = args.inputs[2];
  const auto strides = BroadcastStrides(dy.shape(), x.shape());
  ForFloating(x.dtype(), [&]<class T>() {
    using A = Accumulator<T>;
    std::vector<A> ties(static_cast<std::size_t>(dy.elements()), A{0});
    const auto wins = [&](std::int64_t i, std::int64_t o) {
      const T value = x.data<T>()[i], best = y.data<T>()[o];
      return value == best || (value != value && best != best);
    };
    ForEachStrided<1>(x.shape(), {strides}, [&](std::int64_t i, const std::array<std::int64_t, 1>& at) {
      if (wins(i, at[0])) ties[static_cast<std::size_t>(at[0])] += 1;
    });
    ForEachStrided<1>(x.shape(), {strides}, [&](std::int64_t i, const std::array<std::int64_t, 1>& at) {
      const A share =
          wins(i, at[0]) ? static_cast<A>(dy.data<T>()[at[0]]) / ties[static_cast<std::size_t>(at[0])] : A{0};
      args.outputs[0].data<T>()[i] = static_cast<T>(share);
    });
  });
  return {};
}

}  // namespace

void DefineOp_reduce_max_grad(OpRegistry& ops) {
  ops.DefineTenon("ReduceMaxGrad")
      .Input("dY", kFloatingTypes)
      .Input("X", kFloatingTypes)
      .Input("Y", kFloatingTypes)
      .Output("dX")
      .Infer(Infer)
      .Reference(Reference);
}

}  // namespace tenon
