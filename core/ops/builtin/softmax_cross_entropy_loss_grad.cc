// tenon.SoftmaxCrossEntropyLossGrad(dloss, log_prob, labels, weights) -> dscores = s * (exp(log_prob) - onehot(label)) at
// each position, where s is weights[label] * dloss, divided by the sum of the weights that counted when reduction is
// mean; 0 where the label is ignore_index. log_prob is the forward node's second output.
#include <cmath>

#include "core/ops/cross_entropy.h"

namespace tenon {
namespace {

Status Infer(InferContext& context) {
  const SymShape &dloss = context.shape(0), &log_prob = context.shape(1), &labels = context.shape(2);
  TENON_TRY(CheckLossShapes(log_prob, labels));
  TENON_ASSIGN(const LossReduction reduction, LossReductionOf(context.attrs()));
  const SymShape expected = reduction == LossReduction::kNone ? labels : SymShape{};
  TENON_INVALID_IF(!(dloss == expected), "dloss has shape {}; the loss has {}.", dloss, expected);
  context.SetOutput(0, context.dtype(0), log_prob);
  return {};
}

template <class T>
void Differentiate(const ReferenceArgs& args, const LossLabels& labels, LossReduction reduction) {
  using A = Accumulator<T>;
  const T* dloss = args.inputs[0].data<T>();
  const T* log_prob = args.inputs[1].data<T>();
  const T* weights = args.has(3) ? args.inputs[3].data<T>() : nullptr;
  T* dx = args.outputs[0].data<T>();
  const auto weight_of = [&](std::int64_t i) {
    if (labels.Ignored(i)) return A{0};
    return weights ? static_cast<A>(weights[labels.values[static_cast<std::size_t>(i)]]) : A{1};
  };
  A divisor{1};
  if (reduction == LossReduction::kMean) {
    divisor = A{0};
    for (std::int64_t i = 0; i < labels.count(); ++i) divisor += weight_of(i);
  }
  for (std::int64_t i = 0; i < labels.count(); ++i) {
    const A scale = weight_of(i) * static_cast<A>(dloss[reduction == LossReduction::kNone ? i : 0]) / divisor;
    for (std::int64_t c = 0; c < labels.classes; ++c) {
      const std::int64_t at = labels.Base(i) + c * labels.area;
      const A hot = c == labels.values[static_cast<std::size_t>(i)] ? A{1} : A{0};
      dx[at] = static_cast<T>(labels.Ignored(i) ? A{0} : scale * (std::exp(static_cast<A>(log_prob[at])) - hot));
    }
  }
}

Status Reference(const ReferenceArgs& args) {
  TENON_ASSIGN(const LossReduction reduction, LossReductionOf(args.attrs));
  TENON_ASSIGN(const LossLabels labels, LossLabelsOf(args.attrs, args.inputs[1].shape(), args.inputs[2]));
  ForFloating(args.inputs[0].dtype(), [&]<class T>() { Differentiate<T>(args, labels, reduction); });
  return {};
}

}  // namespace

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
      .Infer(Infer)
      .Reference(Reference);
}

}  // namespace tenon
