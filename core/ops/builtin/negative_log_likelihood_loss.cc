// NegativeLogLikelihoodLoss(input, target, weight): loss[n,d] = -weight[t] * input[n,t,d] for t = target[n,d], and 0 where
// t = ignore_index; the losses (reduction none), their sum, or (mean) their sum divided by the sum of the weights that counted:
// 0 / 0 = NaN when none did. input [N, C, D1 ..] holds log probabilities, target is [N, D1 ..]. ONNX
// NegativeLogLikelihoodLoss, since opset 12.
#include "core/ops/cross_entropy.h"

namespace tenon {
namespace {

Status Infer(InferContext& context) {
  const SymShape &input = context.shape(0), &target = context.shape(1);
  TENON_TRY(CheckLossShapes(input, target));
  TENON_TRY(CheckClassWeights(context, input, 2));
  TENON_ASSIGN(const LossReduction reduction, LossReductionOf(context.attrs()));
  context.SetOutput(0, context.dtype(0), reduction == LossReduction::kNone ? target : SymShape{});
  return {};
}

template <class T>
void Loss(const ReferenceArgs& args, const LossLabels& labels, LossReduction reduction) {
  using A = Accumulator<T>;
  const T* input = args.inputs[0].data<T>();
  const T* weights = args.has(2) ? args.inputs[2].data<T>() : nullptr;
  T* out = args.outputs[0].data<T>();
  A total{0}, weight_sum{0};
  for (std::int64_t i = 0; i < labels.count(); ++i) {
    A loss{0};
    if (!labels.Ignored(i)) {
      const std::int64_t label = labels.values[static_cast<std::size_t>(i)];
      const A weight = weights ? static_cast<A>(weights[label]) : A{1};
      loss = -weight * static_cast<A>(input[labels.Base(i) + label * labels.area]);
      total += loss;
      weight_sum += weight;
    }
    if (reduction == LossReduction::kNone) out[i] = static_cast<T>(loss);
  }
  if (reduction != LossReduction::kNone) {
    *out = static_cast<T>(reduction == LossReduction::kMean ? total / weight_sum : total);
  }
}

Status Reference(const ReferenceArgs& args) {
  TENON_ASSIGN(const LossReduction reduction, LossReductionOf(args.attrs));
  TENON_ASSIGN(const LossLabels labels, LossLabelsOf(args.attrs, args.inputs[0].shape(), args.inputs[1]));
  ForFloating(args.inputs[0].dtype(), [&]<class T>() { Loss<T>(args, labels, reduction); });
  return {};
}

Status Gradient(GradBuilder& b, GradArgs& args) {
  if (!args.wants(0)) return {};
  const Value weight = args.inputs.size() > 2 ? args.inputs[2] : Value{};
  args.input_grads[0] = b.TenonOp("NegativeLogLikelihoodLossGrad",
                                  {args.output_grads[0], args.inputs[0], args.inputs[1], weight}, args.attrs);
  return {};
}

}  // namespace

void DefineOp_negative_log_likelihood_loss(OpRegistry& ops) {
  ops.Define("NegativeLogLikelihoodLoss")
      .InLowPrecision(LowPrecision::kNever)
      .Since(12)
      .Input("input", kFloatingTypes)
      .Input("target", kIndexTypes, "target")
      .OptionalInput("weight", kFloatingTypes)
      .Output("loss")
      .Attr("reduction", "mean")
      .OptionalAttr("ignore_index", AttrType::kInt)
      .Infer(Infer)
      .Reference(Reference)
      .Gradient(Gradient);
}

}  // namespace tenon
