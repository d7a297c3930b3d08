#include "core/passes/pass.h"

namespace tenon::passes {
namespace {

constexpr std::int64_t kMostElements = std::int64_t{1} << 20;  // larger results would only swell the program

bool IsFoldable(const Graph& graph, const graph::Node& node) {
  if (node.def == nullptr || node.def->random() || node.inputs.empty()) return false;
  for (const ValueId input : node.inputs) {
    if (input != kNone && graph.value(input).kind != graph::ValueKind::kConstant) return false;
  }
  for (const ValueId output : node.outputs) {
    if (output == kNone) continue;
    const SymShape& shape = graph.value(output).type.shape;
    if (!shape.known() || shape.Concrete().elements() > kMostElements) return false;
  }
  return true;
}

Status Fold(Graph& graph, NodeId id) {
  const graph::Node& node = graph.node(id);
  std::vector<Tensor> inputs, outputs;
  for (const ValueId input : node.inputs) inputs.push_back(input == kNone ? Tensor() : graph.value(input).constant);
  for (const ValueId output : node.outputs) {
    outputs.push_back(
        output == kNone ? Tensor() : Tensor(graph.value(output).type.dtype, graph.value(output).type.shape.Concrete()));
  }
  const ReferenceArgs args{node.attrs, inputs, outputs, {}};
  TENON_TRY_WHILE(node.def->reference()(args), "folding node '{}' ({})", node.name, node.FullName());
  const std::vector<ValueId> results = node.outputs;
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (results[i] == kNone) continue;
    const ValueId constant = graph.AddConstant(graph.value(results[i]).name + ".folded", std::move(outputs[i]));
    graph.ReplaceAllUses(results[i], constant);
  }
  graph.MarkDead(id);
  return {};
}

}  // namespace

// op(constant, ...) -> constant, computed by the operator's own reference.
Result<bool> FoldConstants(Compilation& state) {
  bool changed = false;
  for (const NodeId id : state.graph.LiveNodes()) {
    if (!IsFoldable(state.graph, state.graph.node(id))) continue;
    TENON_TRY(Fold(state.graph, id));
    changed = true;
  }
  if (changed) TENON_TRY(state.graph.InferAll());
  return changed;
}

}  // namespace tenon::passes
