// SoftmaxCrossEntropyLoss(scores, labels, weights) -> output, log_prob: with log_prob = LogSoftmax(scores, axis 1),
// loss[n,d] = -weights[l] * log_prob[n,l,d] for l = labels[n,d], and 0 where l = ignore_index; output is the losses
// (reduction none), their sum, or (mean) their sum divided by the sum of the weights that counted: 0 / 0 = NaN when none
// did. scores are [N, C, D1 ..], labels [N, D1 ..]. ONNX SoftmaxCrossEntropyLoss, since opset 12.
#include "core/ops/cross_entropy.h"

namespace tenon {

void DefineOp_softmax_cross_entropy_loss(OpRegistry& ops) {
  ops.Define("SoftmaxCrossEntropyLoss")
      .InLowPrecision(LowPrecision::kNever)
      .Since(12)
      .Input("scores", kFloatingTypes)
      .Input("labels", kIndexTypes, "labels")
      .OptionalInput("weights", kFloatingTypes)
      .Output("output")
      .OptionalOutput("log_prob")
      .SavedForGradient(1)
      .Attr("reduction", "mean")
      .OptionalAttr("ignore_index", AttrType::kInt)
      .Infer(InferCrossEntropy)
      .Reference(CrossEntropyReference)
      .Gradient(
          [](GradBuilder& b, GradArgs& args) { return CrossEntropyGradient(b, args, "SoftmaxCrossEntropyLossGrad"); });
}

}  // namespace tenon
