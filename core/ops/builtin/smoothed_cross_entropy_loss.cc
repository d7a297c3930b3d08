// tenon.SmoothedCrossEntropyLoss(scores, labels, weights; label_smoothing) -> output, log_prob: SoftmaxCrossEntropyLoss against
// the label with weight 1 - label_smoothing and all C classes with label_smoothing / C each:
//   loss[n,d] = -(1 - e) * weights[l] * log_prob[n,l,d] - e / C * sum over c of weights[c] * log_prob[n,c,d],
// e = label_smoothing, l = labels[n,d]; 0 where l = ignore_index. A mean divides by the sum of weights[l] over the labels that
// count. Semantics of torch.nn.functional.cross_entropy. Source: Szegedy et al. 2016.
#include "core/ops/cross_entropy.h"

namespace tenon {

void DefineOp_smoothed_cross_entropy_loss(OpRegistry& ops) {
  ops.DefineTenon("SmoothedCrossEntropyLoss")
      .InLowPrecision(LowPrecision::kNever)
      .Input("scores", kFloatingTypes)
      .Input("labels", kIndexTypes, "labels")
      .OptionalInput("weights", kFloatingTypes)
      .Output("output")
      .OptionalOutput("log_prob")
      .SavedForGradient(1)
      .Attr("reduction", "mean")
      .OptionalAttr("ignore_index", AttrType::kInt)
      .Attr("label_smoothing", 0.1)
      .Infer(InferCrossEntropy)
      .Reference(CrossEntropyReference)
      .Gradient(
          [](GradBuilder& b, GradArgs& args) { return CrossEntropyGradient(b, args, "SmoothedCrossEntropyLossGrad"); });
}

}  // namespace tenon
