// tenon.SmoothedCrossEntropyLossGrad(dloss, log_prob, labels, weights; label_smoothing) -> dscores = s * (exp(log_prob) * sum a -
// a) at each position, where a[c] = (1 - e) * weights[c] * onehot(label)[c] + e / C * weights[c], e = label_smoothing, and s is
// dloss, divided by the sum of weights[label] over the labels that count when reduction is mean; 0 where the label is
// ignore_index. log_prob is the forward node's second output.
#include "core/ops/cross_entropy.h"

namespace tenon {

void DefineOp_smoothed_cross_entropy_loss_grad(OpRegistry& ops) {
  ops.DefineTenon("SmoothedCrossEntropyLossGrad")
      .Input("dloss", kFloatingTypes)
      .Input("log_prob", kFloatingTypes)
      .Input("labels", kIndexTypes, "labels")
      .OptionalInput("weights", kFloatingTypes)
      .Output("dscores")
      .Attr("reduction", "mean")
      .OptionalAttr("ignore_index", AttrType::kInt)
      .Attr("label_smoothing", 0.1)
      .InPlace(0, 1)
      .Infer(InferCrossEntropyGrad)
      .Reference(CrossEntropyGradReference);
}

}  // namespace tenon
