// tenon.BinaryCrossEntropyWithLogitsLoss(predictions, targets, pos_weight; reduction = mean): with x the predictions, t the
// targets and p = pos_weight (1 when absent; it broadcasts to x), elements
//   -p * t * log(sigmoid(x)) - (1 - t) * log(1 - sigmoid(x)) = (1 - t) * x + (1 + (p - 1) * t) * softplus(-x),
// their sum, or their mean. Semantics of torch.nn.functional.binary_cross_entropy_with_logits. There is no gradient by targets
// or pos_weight.
#include <cmath>

#include "core/ops/logit_loss.h"

namespace tenon {
namespace {

Status Infer(InferContext& context) {
  TENON_TRY(CheckPosWeight(context, 0, 2));
  return InferElementLoss(context);
}

Status Reference(const ReferenceArgs& args) {
  TENON_ASSIGN(const LossReduction reduction, LossReductionOf(args.attrs));
  ForFloating(args.inputs[0].dtype(), [&]<class T>() {
    using A = Accumulator<T>;
    const auto weights = PosWeights<A>(args, 0, 2);
    SumElementLoss<T>(args, reduction, [&](A x, A t, std::int64_t i) {
      const A p = weights.empty() ? A{1} : weights[static_cast<std::size_t>(i)];
      const A softplus = (x < 0 ? -x : A{0}) + std::log1p(std::exp(-std::abs(x)));
      return (1 - t) * x + (1 + (p - 1) * t) * softplus;
    });
  });
  return {};
}

Status Gradient(GradBuilder& b, GradArgs& args) {
  TENON_INVALID_IF(args.wants(1) || args.wants(2),
                   "BinaryCrossEntropyWithLogitsLoss has a gradient by its predictions only.");
  const Value pos_weight = args.inputs.size() > 2 ? args.inputs[2] : Value{};
  args.input_grads[0] = b.TenonOp("BinaryCrossEntropyWithLogitsLossGrad",
                                  {args.output_grads[0], args.inputs[0], args.inputs[1], pos_weight}, args.attrs);
  return {};
}

}  // namespace

void DefineOp_binary_cross_entropy_with_logits_loss(OpRegistry& ops) {
  DefineElementLoss(ops, "BinaryCrossEntropyWithLogitsLoss")
      .OptionalInput("pos_weight", kFloatingTypes)
      .Infer(Infer)
      .Reference(Reference)
      .Gradient(Gradient);
}

}  // namespace tenon
