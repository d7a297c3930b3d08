#include "core/train/loss.h"

namespace tenon {
namespace {

Result<graph::ValueId> One(graph::Graph& graph, std::string_view op, std::initializer_list<graph::ValueId> inputs,
                           Attributes attrs, std::string name) {
  TENON_ASSIGN(const graph::NodeId id,
               graph.AddNode("", op, std::span<const graph::ValueId>(inputs.begin(), inputs.size()), std::move(attrs),
                             1, std::move(name)));
  return graph.node(id).outputs[0];
}

// One label a position and scores of classes in the last axis ([N, T, C] against [N, T], as linear layers give them): the
// positions become samples. ONNX's loss has the classes in axis 1.
Result<graph::ValueId> Add(const SoftmaxCrossEntropyConfig&, graph::Graph& graph, graph::ValueId output,
                           graph::ValueId labels) {
  if (ClassAxis(graph.value(output).type.shape, graph.value(labels).type.shape) > 1) {
    const SymShape shape = graph.value(output).type.shape;
    const std::int64_t rows[] = {-1, shape[shape.rank() - 1].value()}, one[] = {-1};
    const graph::ValueId to_rows = graph.AddConstant("loss.rows", Tensor::Of<std::int64_t>(Shape{2}, rows));
    const graph::ValueId to_one = graph.AddConstant("loss.one", Tensor::Of<std::int64_t>(Shape{1}, one));
    TENON_ASSIGN(output, One(graph, "Reshape", {output, to_rows}, {}, "loss.scores"));
    TENON_ASSIGN(labels, One(graph, "Reshape", {labels, to_one}, {}, "loss.labels"));
  }
  return One(graph, "SoftmaxCrossEntropyLoss", {output, labels}, {{"reduction", std::string("mean")}}, "loss");
}

Result<graph::ValueId> Add(const MseConfig&, graph::Graph& graph, graph::ValueId output, graph::ValueId labels) {
  const ValueType out = graph.value(output).type;
  ValueType want = graph.value(labels).type;
  if (out.shape.known() && want.shape.known() && out.shape.rank() == want.shape.rank() + 1 &&
      out.shape[out.shape.rank() - 1].value() == 1) {
    // One value per sample against an output of one column: [N] is seen as [N, 1].
    const Shape dims = out.shape.Concrete();
    const graph::ValueId to = graph.AddConstant("loss.dims", Tensor::Of<std::int64_t>(Shape{dims.rank()}, dims.dims()));
    TENON_ASSIGN_WHILE(labels, One(graph, "Reshape", {labels, to}, {}, "loss.labels"),
                       "comparing the output {} with the labels {}", out.ToString(), want.ToString());
    want = graph.value(labels).type;
  }
  TENON_INVALID_IF(
      !(out == want),
      "The mse loss compares the network's output {} with the labels {}; both must have one type and shape.",
      out.ToString(), want.ToString());
  TENON_ASSIGN(const graph::ValueId difference, One(graph, "Sub", {output, labels}, {}, "loss.difference"));
  TENON_ASSIGN(const graph::ValueId square, One(graph, "Mul", {difference, difference}, {}, "loss.square"));
  return One(graph, "ReduceMean", {square}, {{"keepdims", std::int64_t{0}}}, "loss");
}

}  // namespace

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
  auto loss = std::visit([&](const auto& kind) { return Add(kind, graph, output, labels); }, config);
  if (!loss.ok())
    return std::move(loss).status().While(fmt::format("adding the loss '{}' to the network's output {}", KindOf(config),
                                                      graph.value(output).type.ToString()));
  return loss;
}

}  // namespace tenon
