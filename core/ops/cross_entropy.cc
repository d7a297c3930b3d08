#include "core/ops/cross_entropy.h"

#include <cmath>

namespace tenon {

Result<double> LabelSmoothingOf(const Attributes& attrs) {
  if (!attrs.Has("label_smoothing")) return 0.0;
  const double smoothing = attrs.Float("label_smoothing");
  TENON_INVALID_IF(!(smoothing >= 0 && smoothing <= 1), "label_smoothing is {}; it must be in [0, 1].", smoothing);
  return smoothing;
}

Status InferCrossEntropy(InferContext& context) {
  const SymShape &scores = context.shape(0), &labels = context.shape(1);
  TENON_TRY(CheckLossShapes(scores, labels));
  TENON_TRY(CheckClassWeights(context, scores, 2));
  TENON_TRY(LabelSmoothingOf(context.attrs()));
  TENON_ASSIGN(const LossReduction reduction, LossReductionOf(context.attrs()));
  context.SetOutput(0, context.dtype(0), reduction == LossReduction::kNone ? labels : SymShape{});
  context.SetOutput(1, context.dtype(0), scores);
  return {};
}

namespace {

// How a position's loss weighs its classes: -sum over c of Of(c) * log_prob[c].
template <class A>
struct ClassShares {
  const A* weights = nullptr;  // of the classes; null: all 1
  std::int64_t classes = 0;
  A smoothing{0};

  A Weight(std::int64_t c) const { return weights ? weights[c] : A{1}; }
  A Of(std::int64_t c, std::int64_t label) const {
    const A hot = c == label ? (1 - smoothing) * Weight(c) : A{0};
    return hot + smoothing / static_cast<A>(classes) * Weight(c);
  }
};

// Weights of the classes in the accumulator's type; undefined where input `index` is absent.
template <class A>
Tensor WideWeights(const ReferenceArgs& args, std::size_t index) {
  return args.has(index) ? Cast(args.inputs[index], kDTypeOf<A>) : Tensor();
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

template <class A>
A PositionLoss(const ClassShares<A>& shares, const std::vector<A>& log_prob, std::int64_t label) {
  if (shares.smoothing == 0) return -shares.Weight(label) * log_prob[static_cast<std::size_t>(label)];
  A loss{0};
  for (std::int64_t c = 0; c < shares.classes; ++c) {
    loss -= shares.Of(c, label) * log_prob[static_cast<std::size_t>(c)];
  }
  return loss;
}

template <class T>
void Loss(const ReferenceArgs& args, const LossLabels& labels, LossReduction reduction, double smoothing) {
  using A = Accumulator<T>;
  const Tensor weights = WideWeights<A>(args, 2);
  const ClassShares<A> shares{weights.defined() ? weights.data<A>() : nullptr, labels.classes,
                              static_cast<A>(smoothing)};
  const T* x = args.inputs[0].data<T>();
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
      const std::int64_t label = labels.values[static_cast<std::size_t>(i)];
      loss = PositionLoss(shares, row, label);
      total += loss;
      weight_sum += shares.Weight(label);
    }
    if (reduction == LossReduction::kNone && args.wants(0)) args.outputs[0].data<T>()[i] = static_cast<T>(loss);
  }
  if (reduction == LossReduction::kNone || !args.wants(0)) return;
  *args.outputs[0].data<T>() = static_cast<T>(reduction == LossReduction::kMean ? total / weight_sum : total);
}

template <class T>
void Differentiate(const ReferenceArgs& args, const LossLabels& labels, LossReduction reduction, double smoothing) {
  using A = Accumulator<T>;
  const Tensor weights = WideWeights<A>(args, 3);
  const ClassShares<A> shares{weights.defined() ? weights.data<A>() : nullptr, labels.classes,
                              static_cast<A>(smoothing)};
  const T *dloss = args.inputs[0].data<T>(), *log_prob = args.inputs[1].data<T>();
  T* dx = args.outputs[0].data<T>();
  A weight_sum{0}, all{0};
  for (std::int64_t i = 0; i < labels.count(); ++i) {
    if (!labels.Ignored(i)) weight_sum += shares.Weight(labels.values[static_cast<std::size_t>(i)]);
  }
  for (std::int64_t c = 0; c < labels.classes; ++c) all += shares.Weight(c);
  const A divisor = reduction == LossReduction::kMean ? weight_sum : A{1};
  for (std::int64_t i = 0; i < labels.count(); ++i) {
    const std::int64_t label = labels.values[static_cast<std::size_t>(i)];
    const A scale = static_cast<A>(dloss[reduction == LossReduction::kNone ? i : 0]) / divisor;
    const A whole = labels.Ignored(i) ? A{0}
                                      : (1 - shares.smoothing) * shares.Weight(label) +
                                            shares.smoothing / static_cast<A>(labels.classes) * all;
    for (std::int64_t c = 0; c < labels.classes; ++c) {
      const std::int64_t at = labels.Base(i) + c * labels.area;
      const A slope = std::exp(static_cast<A>(log_prob[at])) * whole - (labels.Ignored(i) ? A{0} : shares.Of(c, label));
      dx[at] = static_cast<T>(labels.Ignored(i) ? A{0} : scale * slope);
    }
  }
}

}  // namespace

Status CrossEntropyReference(const ReferenceArgs& args) {
  TENON_ASSIGN(const LossReduction reduction, LossReductionOf(args.attrs));
  TENON_ASSIGN(const double smoothing, LabelSmoothingOf(args.attrs));
  TENON_ASSIGN(const LossLabels labels, LossLabelsOf(args.attrs, args.inputs[0].shape(), args.inputs[1]));
  ForFloating(args.inputs[0].dtype(), [&]<class T>() { Loss<T>(args, labels, reduction, smoothing); });
  return {};
}

// The loss goes through one operator, a gradient of log_prob through that of LogSoftmax.
Status CrossEntropyGradient(GradBuilder& b, GradArgs& args, std::string_view type) {
  if (!args.wants(0)) return {};
  const Value log_prob = args.outputs[1];
  const bool weighted = args.inputs.size() > 2 && args.inputs[2];
  Value dx;
  if (args.output_grads[0]) {
    dx = b.TenonOp(type, {args.output_grads[0], log_prob, args.inputs[1], weighted ? args.inputs[2] : Value{}},
                   args.attrs);
  }
  if (args.output_grads.size() > 1 && args.output_grads[1]) {
    const Value more = b.TenonOp("LogSoftmaxGrad", {args.output_grads[1], log_prob}, {{"axis", std::int64_t{1}}});
    dx = dx ? b.Add(dx, more) : more;
  }
  args.input_grads[0] = dx;
  return {};
}

Status InferCrossEntropyGrad(InferContext& context) {
  const SymShape &dloss = context.shape(0), &log_prob = context.shape(1), &labels = context.shape(2);
  TENON_TRY(CheckLossShapes(log_prob, labels));
  TENON_ASSIGN(const LossReduction reduction, LossReductionOf(context.attrs()));
  const SymShape expected = reduction == LossReduction::kNone ? labels : SymShape{};
  TENON_INVALID_IF(!(dloss == expected), "dloss has shape {}; the loss has {}.", dloss, expected);
  context.SetOutput(0, context.dtype(0), log_prob);
  return {};
}

Status CrossEntropyGradReference(const ReferenceArgs& args) {
  TENON_ASSIGN(const LossReduction reduction, LossReductionOf(args.attrs));
  TENON_ASSIGN(const double smoothing, LabelSmoothingOf(args.attrs));
  TENON_ASSIGN(const LossLabels labels, LossLabelsOf(args.attrs, args.inputs[1].shape(), args.inputs[2]));
  ForFloating(args.inputs[1].dtype(), [&]<class T>() { Differentiate<T>(args, labels, reduction, smoothing); });
  return {};
}

}  // namespace tenon
