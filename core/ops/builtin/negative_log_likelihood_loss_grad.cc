// tenon.NegativeLogLikelihoodLossGrad(dloss, input, target, weight) -> dinput: -weight[t] * dloss at the class t of each position,
// divided by the sum of the weights that counted when reduction is mean; 0 at the other classes and where t = ignore_index.
// input gives its shape only.
#include <algorithm>

#include "core/ops/cross_entropy.h"

namespace tenon {
namespace {

template <class T>
void Differentiate(const ReferenceArgs& args, const LossLabels& labels, LossReduction reduction) {
  using A = Accumulator<T>;
  const T* dloss = args.inputs[0].data<T>();
  const T* weights = args.has(3) ? args.inputs[3].data<T>() : nullptr;
  const auto weight_of = [&](std::int64_t i) {
    if (labels.Ignored(i)) return A{0};
    return weights ? static_cast<A>(weights[labels.values[static_cast<std::size_t>(i)]]) : A{1};
  };
  A divisor{1};
  if (reduction == LossReduction::kMean) {
    divisor = A{0};
    for (std::int64_t i = 0; i < labels.count(); ++i) divisor += weight_of(i);
  }
  T* dx = args.outputs[0].data<T>();
  std::fill(dx, dx + args.outputs[0].elements(), T{});
  for (std::int64_t i = 0; i < labels.count(); ++i) {
    if (labels.Ignored(i)) continue;
    const A share = static_cast<A>(dloss[reduction == LossReduction::kNone ? i : 0]) / divisor;
    dx[labels.Base(i) + labels.values[static_cast<std::size_t>(i)] * labels.area] =
        static_cast<T>(-weight_of(i) * share);
  }
}

Status Reference(const ReferenceArgs& args) {
  TENON_ASSIGN(const LossReduction reduction, LossReductionOf(args.attrs));
  TENON_ASSIGN(const LossLabels labels, LossLabelsOf(args.attrs, args.inputs[1].shape(), args.inputs[2]));
  ForFloating(args.inputs[1].dtype(), [&]<class T>() { Differentiate<T>(args, labels, reduction); });
  return {};
}

}  // namespace

void DefineOp_negative_log_likelihood_loss_grad(OpRegistry& ops) {
  ops.DefineTenon("NegativeLogLikelihoodLossGrad")
      .Input("dloss", kFloatingTypes)
      .Input("input", kFloatingTypes)
      .Input("target", kIndexTypes, "target")
      .OptionalInput("weight", kFloatingTypes)
      .Output("dinput")
      .Attr("reduction", "mean")
      .OptionalAttr("ignore_index", AttrType::kInt)
      .Infer(InferCrossEntropyGrad)
      .Reference(Reference);
}

}  // namespace tenon
