#include "core/passes/pass.h"

namespace tenon::passes {
namespace {

Result<ValueId> Scalar(Graph& graph, double value, DType dtype, const std::string& name) {
  Tensor one(DType::kF64, Shape{});
  one.data<double>()[0] = value;
  return graph.AddConstant(name, Cast(one, dtype));
}

Status ClipByValue(Compilation& state, double limit) {
  Graph& graph = state.graph;
  for (ValueId& gradient : state.gradients) {
    if (gradient == kNone) continue;
    const DType dtype = graph.value(gradient).type.dtype;
    TENON_ASSIGN(const ValueId low, Scalar(graph, -limit, dtype, "clip.low"));
    TENON_ASSIGN(const ValueId high, Scalar(graph, limit, dtype, "clip.high"));
    const ValueId inputs[] = {gradient, low, high};
    TENON_ASSIGN(const NodeId node, graph.AddNode("", "Clip", inputs, {}, 1, "clip"));
    gradient = graph.node(node).outputs[0];
  }
  return {};
}

Status ClipByNorm(Compilation& state, double limit) {
  Graph& graph = state.graph;
  std::vector<ValueId> all;
  for (const ValueId gradient : state.gradients) {
    if (gradient != kNone) all.push_back(gradient);
  }
  TENON_ASSIGN(const NodeId factor, graph.AddNode("tenon", "ClipFactor", all, {{"max_norm", limit}}, 2, "clip.factor"));
  state.gradient_norm = graph.node(factor).outputs[1];
  graph.outputs.push_back(state.gradient_norm);
  for (ValueId& gradient : state.gradients) {
    if (gradient == kNone) continue;
    ValueId by = graph.node(factor).outputs[0];
    const DType dtype = graph.value(gradient).type.dtype;
    if (dtype != graph.value(by).type.dtype) {
      TENON_ASSIGN(const NodeId cast,
                   graph.AddNode("", "Cast", {&by, 1}, {{"to", static_cast<std::int64_t>(dtype)}}, 1, "clip.cast"));
      by = graph.node(cast).outputs[0];
    }
    const ValueId inputs[] = {gradient, by};
    TENON_ASSIGN(const NodeId node, graph.AddNode("", "Mul", inputs, {}, 1, "clip"));
    gradient = graph.node(node).outputs[0];
  }
  return {};
}

}  // namespace

// gradients -> gradients whose values, or whose joint L2 norm, are at most the limit of the rule.
Result<bool> ClipGradients(Compilation& state) {
  if (!state.clip || state.gradients.empty()) return false;
  if (state.clip->value) TENON_TRY(ClipByValue(state, *state.clip->value));
  if (state.clip->norm) TENON_TRY(ClipByNorm(state, *state.clip->norm));
  return state.clip->value || state.clip->norm;
}

}  // namespace tenon::passes
