// tenon.BinaryCrossEntropyWithLogitsLossGrad(dloss, predictions, targets, pos_weight; reduction = mean) = ((1 - t) -
// (1 + (p - 1) * t) * sigmoid(-x)) * dloss, divided by the number of elements when reduction is mean; x are the predictions, t
// the targets, p = pos_weight or 1.
#include <cmath>

#include "core/ops/logit_loss.h"

namespace tenon {
namespace {

Status Infer(InferContext& context) {
  TENON_TRY(CheckPosWeight(context, 1, 3));
  return InferElementLossGrad(context);
}

Status Reference(const ReferenceArgs& args) {
  TENON_ASSIGN(const LossReduction reduction, LossReductionOf(args.attrs));
  ForFloating(args.inputs[1].dtype(), [&]<class T>() {
    using A = Accumulator<T>;
    const auto weights = PosWeights<A>(args, 1, 3);
    SpreadElementLoss<T>(args, reduction, [&](A x, A t, std::int64_t i) {
      const A p = weights.empty() ? A{1} : weights[static_cast<std::size_t>(i)];
      const A e = std::exp(-std::abs(x)), down = x >= 0 ? e / (1 + e) : 1 / (1 + e);
      return (1 - t) - (1 + (p - 1) * t) * down;
    });
  });
  return {};
}

}  // namespace

void DefineOp_binary_cross_entropy_with_logits_loss_grad(OpRegistry& ops) {
  DefineElementLossGrad(ops, "BinaryCrossEntropyWithLogitsLossGrad")
      .OptionalInput("pos_weight", kFloatingTypes)
      .Infer(Infer)
      .Reference(Reference);
}

}  // namespace tenon
