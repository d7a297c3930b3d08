#pragma once

#include "core/ops/element_loss.h"

namespace tenon {

// What BinaryCrossEntropyWithLogitsLoss and its gradient share: pos_weight, which broadcasts to the logits.

inline Status CheckPosWeight(const InferContext& context, int predictions, int pos_weight) {
  if (!context.has_input(pos_weight)) return {};
  const SymShape &x = context.shape(predictions), &weight = context.shape(pos_weight);
  TENON_ASSIGN(const SymShape both, Broadcast(x, weight));
  TENON_INVALID_IF(!(both == x), "pos_weight has shape {}, which does not broadcast to the predictions {}.", weight, x);
  return {};
}

// pos_weight of every element; empty where there is none, which means 1 everywhere.
template <class A>
std::vector<A> PosWeights(const ReferenceArgs& args, std::size_t predictions, std::size_t pos_weight) {
  if (!args.has(pos_weight)) return {};
  const Tensor wide = Cast(args.inputs[pos_weight], kDTypeOf<A>);
  const Shape& x = args.inputs[predictions].shape();
  std::vector<A> weights(static_cast<std::size_t>(x.elements()));
  ForEachBroadcast(x, x, wide.shape(), [&](std::int64_t i, std::int64_t, std::int64_t at) {
    weights[static_cast<std::size_t>(i)] = wide.data<A>()[at];
  });
  return weights;
}

}  // namespace tenon
