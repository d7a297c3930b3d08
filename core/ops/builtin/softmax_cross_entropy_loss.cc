// SoftmaxCrossEntropyLoss(scores, labels, weights) -> output, log_prob: with log_prob = LogSoftmax(scores, axis 1),
// loss[n,d] = -weights[l] * log_prob[n,l,d] for l = labels[n,d], and 0 where l = ignore_index; output is the losses
// (reduction none), their sum, or (mean) their sum divided by the sum of the weights that counted: 0 / 0 = NaN when none
// did. scores are [N, C, D1 ..], labels [N, D1 ..]. ONNX SoftmaxCrossEntropyLoss, since opset 12.
#include <cmath>

#include "core/ops/cross_entropy.h"

namespace tenon {
namespace {

Status Infer(InferContext& context) {
  const SymShape &scores = context.shape(0), &labels = context.shape(1);
  TENON_TRY(CheckLossShapes(scores, labels));
  if (context.has_input(2)) {
    TENON_INVALID_IF(!(context.shape(2) == SymShape{scores[1]}), "weights has shape {}; scores {} need [{}].",
                     context.shape(2), scores, scores[1]);
  }
  TENON_ASSIGN(const LossReduction reduction, LossReductionOf(context.attrs()));
  context.SetOutput(0, context.dtype(0), reduction == LossReduction::kNone ? labels : SymShape{});
  context.SetOutput(1, context.dtype(0), scores);
  return {};
}

// log_prob of one position: x - max - log(sum exp(x - max)).
template <class T, class A>
void LogProbabilities(const T* x, std::int64_t classes, std::int64_t stride, A* out) {
  A top = static_cast<A>(x[0]);
  for (std::int64_t c = 1; c < classes; ++c) {
    const A value = static_cast<A>(x[c * stride]);
    if (value > top || std::isnan(value)) top = value;
  }
  A sum{0};
  for (std::int64_t c = 0; c < classes; ++c) sum += std::exp(static_cast<A>(x[c * stride]) - top);
  const A log_sum = std::log(sum);
  for (std::int64_t c = 0; c < classes; ++c) out[c] = static_cast<A>(x[c * stride]) - top - log_sum;
}

template <class T>
void Loss(const ReferenceArgs& args, const LossLabels& labels, LossReduction reduction) {
  using A = Accumulator<T>;
  const T* x = args.inputs[0].data<T>();
  const T* weights = args.has(2) ? args.inputs[2].data<T>() : nullptr;
  T* log_prob = args.wants(1) ? args.outputs[1].data<T>() : nullptr;
  std::vector<A> row(static_cast<std::size_t>(labels.classes));
  A total{0}, weight_sum{0};
  for (std::int64_t i = 0; i < labels.count(); ++i) {
    const std::int64_t base = labels.Base(i);
    LogProbabilities(x + base, labels.classes, labels.area, row.data());
    for (std::int64_t c = 0; log_prob != nullptr && c < labels.classes; ++c) {
      log_prob[base + c * labels.area] = static_cast<T>(row[static_cast<std::size_t>(c)]);
    }
    A loss{0};
    if (!labels.Ignored(i)) {
      const auto label = static_cast<std::size_t>(labels.values[static_cast<std::size_t>(i)]);
      const A weight = weights ? static_cast<A>(weights[label]) : A{1};
      loss = -weight * row[label];
      total += loss;
      weight_sum += weight;
    }
    if (reduction == LossReduction::kNone && args.wants(0)) args.outputs[0].data<T>()[i] = static_cast<T>(loss);
  }
  if (reduction == LossReduction::kNone || !args.wants(0)) return;
  *args.outputs[0].data<T>() = static_cast<T>(reduction == LossReduction::kMean ? total / weight_sum : total);
}

Status Reference(const ReferenceArgs& args) {
  TENON_ASSIGN(const LossReduction reduction, LossReductionOf(args.attrs));
  TENON_ASSIGN(const LossLabels labels, LossLabelsOf(args.attrs, args.inputs[0].shape(), args.inputs[1]));
  ForFloating(args.inputs[0].dtype(), [&]<class T>() { Loss<T>(args, labels, reduction); });
  return {};
}

// The loss goes through one operator, a gradient of log_prob through that of LogSoftmax.
Status Gradient(GradBuilder& b, GradArgs& args) {
  if (!args.wants(0)) return {};
  const Value log_prob = args.outputs[1];
  const bool weighted = args.inputs.size() > 2 && args.inputs[2];
  Value dx;
  if (args.output_grads[0]) {
    dx = b.TenonOp("SoftmaxCrossEntropyLossGrad",
                   {args.output_grads[0], log_prob, args.inputs[1], weighted ? args.inputs[2] : Value{}}, args.attrs);
  }
  if (args.output_grads.size() > 1 && args.output_grads[1]) {
    const Value more = b.TenonOp("LogSoftmaxGrad", {args.output_grads[1], log_prob}, {{"axis", std::int64_t{1}}});
    dx = dx ? b.Add(dx, more) : more;
  }
  args.input_grads[0] = dx;
  return {};
}

}  // namespace

void DefineOp_softmax_cross_entropy_loss(OpRegistry& ops) {
  ops.Define("SoftmaxCrossEntropyLoss")
      .Since(12)
      .Input("scores", kFloatingTypes)
      .Input("labels", kIndexTypes, "labels")
      .OptionalInput("weights", kFloatingTypes)
      .Output("output")
      .OptionalOutput("log_prob")
      .SavedForGradient(1)
      .Attr("reduction", "mean")
      .OptionalAttr("ignore_index", AttrType::kInt)
      .Infer(Infer)
      .Reference(Reference)
      .Gradient(Gradient);
}

}  // namespace tenon
