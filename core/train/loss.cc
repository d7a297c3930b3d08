#include "core/train/loss.h"

namespace tenon {
namespace {

// A loss operator and what it takes beside output and labels.
struct LossNode {
  const char* domain;
  const char* op;
  Attributes attrs = {};
  std::vector<double> weights = {};  // its third input; empty: absent
};

template <class T>
LossNode WithClasses(const T& loss, LossNode node) {
  if (loss.ignore_index) node.attrs.Set("ignore_index", *loss.ignore_index);
  node.weights = loss.class_weights;
  return node;
}

LossNode NodeOf(const SoftmaxCrossEntropyConfig& loss) {
  if (loss.label_smoothing == 0) return WithClasses(loss, {"", "SoftmaxCrossEntropyLoss"});
  return WithClasses(loss, {"tenon", "SmoothedCrossEntropyLoss", {{"label_smoothing", loss.label_smoothing}}});
}
LossNode NodeOf(const NllConfig& loss) { return WithClasses(loss, {"", "NegativeLogLikelihoodLoss"}); }
LossNode NodeOf(const MseConfig&) { return {"tenon", "MeanSquaredErrorLoss"}; }
LossNode NodeOf(const L1Config&) { return {"tenon", "L1Loss"}; }
LossNode NodeOf(const SmoothL1Config& loss) { return {"tenon", "SmoothL1Loss", {{"beta", loss.beta}}}; }
LossNode NodeOf(const BceWithLogitsConfig& loss) {
  return {"tenon", "BinaryCrossEntropyWithLogitsLoss", {}, loss.pos_weight};
}

Result<graph::ValueId> AddNode(graph::Graph& graph, const LossNode& node, std::span<const graph::ValueId> inputs,
                               std::string name) {
  TENON_ASSIGN(const graph::NodeId id, graph.AddNode(node.domain, node.op, inputs, node.attrs, 1, std::move(name)));
  return graph.node(id).outputs[0];
}

// One label a position and scores of classes in the last axis ([N, T, C] against [N, T], as linear layers give them): the
// positions become samples. ONNX's losses have the classes in axis 1.
Status ClassesToAxis1(graph::Graph& graph, graph::ValueId& output, graph::ValueId& labels) {
  const SymShape shape = graph.value(output).type.shape;
  if (ClassAxis(shape, graph.value(labels).type.shape) == 1) return {};
  const std::int64_t rows[] = {-1, shape[shape.rank() - 1].value()}, one[] = {-1};
  const graph::ValueId scores_in[] = {output, graph.AddConstant("loss.rows", Tensor::Of<std::int64_t>(Shape{2}, rows))};
  const graph::ValueId labels_in[] = {labels, graph.AddConstant("loss.one", Tensor::Of<std::int64_t>(Shape{1}, one))};
  TENON_ASSIGN(output, AddNode(graph, {"", "Reshape"}, scores_in, "loss.scores"));
  TENON_ASSIGN(labels, AddNode(graph, {"", "Reshape"}, labels_in, "loss.labels"));
  return {};
}

// Labels with type and shape of the output: one value per sample may stand against an output of one column, [N] is then
// seen as [N, 1].
Result<graph::ValueId> AsValues(graph::Graph& graph, const char* kind, graph::ValueId output, graph::ValueId labels) {
  const ValueType out = graph.value(output).type;
  ValueType want = graph.value(labels).type;
  if (out.shape.known() && want.shape.known() && out.shape.rank() == want.shape.rank() + 1 &&
      out.shape[out.shape.rank() - 1].value() == 1) {
    const Shape dims = out.shape.Concrete();
    const graph::ValueId to = graph.AddConstant("loss.dims", Tensor::Of<std::int64_t>(Shape{dims.rank()}, dims.dims()));
    const graph::ValueId inputs[] = {labels, to};
    TENON_ASSIGN_WHILE(labels, AddNode(graph, {"", "Reshape"}, inputs, "loss.labels"),
                       "comparing the output {} with the labels {}", out.ToString(), want.ToString());
    want = graph.value(labels).type;
  }
  const bool classes = out.shape.rank() == 2 && want.shape.rank() == 1;
  TENON_INVALID_IF(
      !(out == want),
      "The {} loss compares the network's output {} with the labels {}; both must have one type and shape.{}", kind,
      out.ToString(), want.ToString(),
      classes ? " Labels that are classes become a row of values with data.transforms: [one_hot]." : "");
  return labels;
}

// Labels that are shares of each class (one_hot, mixup), [N, C] like the output: the mean over the samples of
// -sum(labels * LogSoftmax(output)).
Result<graph::ValueId> AddShares(const SoftmaxCrossEntropyConfig& loss, graph::Graph& graph, graph::ValueId output,
                                 graph::ValueId labels) {
  const ValueType out = graph.value(output).type, want = graph.value(labels).type;
  TENON_INVALID_IF(
      !(out.shape == want.shape) || out.shape.rank() != 2,
      "The labels are shares of classes, {}, and the network's output is {}; both must be [batch, classes].",
      want.ToString(), out.ToString());
  TENON_INVALID_IF(loss.label_smoothing != 0 || loss.ignore_index || !loss.class_weights.empty(),
                   "'label_smoothing', 'ignore_index' and 'class_weights' go with labels that are classes; these are "
                   "shares of classes ('one_hot').");
  const std::int64_t axis[] = {1};
  const graph::ValueId axes = graph.AddConstant("loss.axes", Tensor::Of<std::int64_t>(Shape{1}, axis));
  const Attributes drop = {{"keepdims", std::int64_t{0}}};
  const graph::ValueId scores[] = {output};
  TENON_ASSIGN(const graph::ValueId logs, AddNode(graph, {"", "LogSoftmax", {{"axis", axis[0]}}}, scores, "loss.logs"));
  const graph::ValueId factors[] = {labels, logs};
  TENON_ASSIGN(const graph::ValueId products, AddNode(graph, {"", "Mul"}, factors, "loss.products"));
  const graph::ValueId summed[] = {products, axes};
  TENON_ASSIGN(const graph::ValueId sums, AddNode(graph, {"", "ReduceSum", drop}, summed, "loss.sums"));
  const graph::ValueId of_samples[] = {sums};
  TENON_ASSIGN(const graph::ValueId mean, AddNode(graph, {"", "ReduceMean", drop}, of_samples, "loss.mean"));
  const graph::ValueId of_batch[] = {mean};
  return AddNode(graph, {"", "Neg"}, of_batch, "loss");
}

Result<graph::ValueId> Add(const LossConfig& config, graph::Graph& graph, graph::ValueId output,
                           graph::ValueId labels) {
  const auto* entropy = std::get_if<SoftmaxCrossEntropyConfig>(&config);
  if (entropy && IsFloating(graph.value(labels).type.dtype)) return AddShares(*entropy, graph, output, labels);
  const LossNode node = std::visit([](const auto& kind) { return NodeOf(kind); }, config);
  if (ComparesValues(config)) {
    TENON_ASSIGN(labels, AsValues(graph, KindOf(config), output, labels));
  } else {
    TENON_TRY(ClassesToAxis1(graph, output, labels));
  }
  std::vector<graph::ValueId> inputs = {output, labels};
  if (!node.weights.empty()) {
    const std::vector<float> weights(node.weights.begin(), node.weights.end());
    const auto count = static_cast<std::int64_t>(weights.size());
    inputs.push_back(
        graph.AddConstant("loss.weights", Tensor::Of<float>(Shape{count}, std::span<const float>(weights))));
  }
  return AddNode(graph, node, inputs, "loss");
}

// A label without a weight counts 1: the loss operator refuses it.
template <class T>
double CountedClass(const T& loss, std::int64_t label) {
  if (loss.ignore_index == label) return 0;
  const auto at = static_cast<std::size_t>(label);
  return label >= 0 && at < loss.class_weights.size() ? loss.class_weights[at] : 1;
}

template <class T>
double CountedClasses(const T& loss, const Tensor& labels) {
  double sum = 0;
  for (const std::int64_t label : labels.values<std::int64_t>()) sum += CountedClass(loss, label);
  return sum;
}

template <class T>
std::int64_t FirstCounted(const T& loss) {
  std::int64_t label = 0;
  while (CountedClass(loss, label) == 0) ++label;
  return label;
}

}  // namespace

double CountedWeight(const LossConfig& config, const Tensor& labels) {
  if (labels.dtype() == DType::kI64) {
    if (const auto* entropy = std::get_if<SoftmaxCrossEntropyConfig>(&config)) return CountedClasses(*entropy, labels);
    if (const auto* likelihood = std::get_if<NllConfig>(&config)) return CountedClasses(*likelihood, labels);
  }
  return static_cast<double>(labels.elements());
}

std::int64_t LabelThatCounts(const LossConfig& config) {
  if (const auto* entropy = std::get_if<SoftmaxCrossEntropyConfig>(&config)) return FirstCounted(*entropy);
  if (const auto* likelihood = std::get_if<NllConfig>(&config)) return FirstCounted(*likelihood);
  return 0;
}

std::optional<std::int64_t> IgnoredLabel(const LossConfig& config) {
  if (const auto* entropy = std::get_if<SoftmaxCrossEntropyConfig>(&config)) return entropy->ignore_index;
  const auto* likelihood = std::get_if<NllConfig>(&config);
  return likelihood != nullptr ? likelihood->ignore_index : std::nullopt;
}

bool CountsLabels(const LossConfig& config) {
  const auto* entropy = std::get_if<SoftmaxCrossEntropyConfig>(&config);
  const auto* likelihood = std::get_if<NllConfig>(&config);
  return !(entropy && !entropy->class_weights.empty()) && !(likelihood && !likelihood->class_weights.empty());
}

int ClassAxis(const SymShape& output, const SymShape& labels) {
  const int last = output.rank() - 1;
  if (last < 2 || labels.rank() != last || !output[last].known()) return 1;
  for (int axis = 0; axis < last; ++axis) {
    if (!(output[axis] == labels[axis])) return 1;
  }
  return last;
}

Result<graph::ValueId> AddLoss(const LossConfig& config, graph::Graph& graph, graph::ValueId output,
                               graph::ValueId labels) {
  auto loss = Add(config, graph, output, labels);
  if (!loss.ok())
    return std::move(loss).status().While(fmt::format("adding the loss '{}' to the network's output {}", KindOf(config),
                                                      graph.value(output).type.ToString()));
  return loss;
}

}  // namespace tenon
