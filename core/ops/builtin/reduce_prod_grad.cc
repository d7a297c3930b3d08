// tenon.ReduceProdGrad(dY, X) -> dX: dY times the product of the other elements that ReduceProd multiplied, right where
// some are 0; dY has 1 in place of every reduced dimension.
#include <vector>

#include "core/ops/broadcast.h"
#include "core/ops/op_def.h"

namespace tenon {
namespace {

Status Infer(InferContext& context) {
  const SymShape &dy = context.shape(0), &x = context.shape(1);
  TENON_ASSIGN(const SymShape spread, Broadcast(dy, x));
  TENON_INVALID_IF(dy.rank() != x.rank() || !(spread == x),
                   "dY has shape {}; it must be X's {} with 1 in the reduced places.", dy, x);
  context.SetOutput(0, context.dtype(0), x);
  return {};
}

// The product of the others is the product of those before times the product of those behind.
template <class T>
void TimesOthers(const Tensor& dy, const Tensor& x, Tensor& dx) {
  using A = Accumulator<T>;
  const auto count = static_cast<std::size_t>(x.elements());
  std::vector<std::size_t> group(count);
  ForEachStrided<1>(x.shape(), {BroadcastStrides(dy.shape(), x.shape())},
                    [&](std::int64_t i, const std::array<std::int64_t, 1>& at) {
                      group[static_cast<std::size_t>(i)] = static_cast<std::size_t>(at[0]);
                    });
  std::vector<A> running(static_cast<std::size_t>(dy.elements()), A{1}), before(count);
  for (std::size_t i = 0; i < count; ++i) {
    before[i] = running[group[i]];
    running[group[i]] *= static_cast<A>(x.data<T>()[i]);
  }
  running.assign(running.size(), A{1});
  for (std::size_t i = count; i-- > 0;) {
    dx.data<T>()[i] = static_cast<T>(static_cast<A>(dy.data<T>()[group[i]]) * before[i] * running[group[i]]);
    running[group[i]] *= static_cast<A>(x.data<T>()[i]);
  }
}

Status Reference(const ReferenceArgs& args) {
  ForFloating(args.inputs[1].dtype(),
              [&]<class T>() { TimesOthers<T>(args.inputs[0], args.inputs[1], args.outputs[0]); });
  return {};
}

}  // namespace

void DefineOp_reduce_prod_grad(OpRegistry& ops) {
  ops.DefineTenon("ReduceProdGrad")
      .Input("dY", kFloatingTypes)
      .Input("X", kFloatingTypes)
      .Output("dX")
      .Infer(Infer)
      .Reference(Reference);
}

}  // namespace tenon
