// tenon.SoftmaxCrossEntropyLossGrad(dloss, log_prob, labels, weights) -> dscores = s * (exp(log_prob) - onehot(label)) at
// each position, where s is weights[label] * dloss, divided by the sum of the weights that counted when reduction is
// mean; 0 where the label is ignore_index. log_prob is the forward node's second output.
#include "core/ops/cross_entropy.h"

namespace tenon {

void DefineOp_softmax_cross_entropy_loss_grad(OpRegistry& ops) {
  ops.DefineTenon("SoftmaxCrossEntropyLossGrad")
      .Input("dloss", kFloatingTypes)
      .Input("log_prob", kFloatingTypes)
      .Input("labels", kIndexTypes, "labels")
      .OptionalInput("weights", kFloatingTypes)
      .Output("dscores")
      .Attr("reduction", "mean")
      .OptionalAttr("ignore_index", AttrType::kInt)
      .InPlace(0, 1)
      .Infer(InferCrossEntropyGrad)
      .Reference(CrossEntropyGradReference);
}

}  // namespace tenon
