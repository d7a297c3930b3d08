#include "core/passes/pass.h"

namespace tenon::passes {
namespace {

constexpr std::int64_t kMostElements = std::int64_t{1} << 20;  // larger results would only swell the program

Status Fold(Graph& graph, NodeId id) {
  TENON_ASSIGN(std::vector<Tensor> outputs, graph::EvaluateNode(graph, graph.node(id)));
  const std::vector<ValueId> results = graph.node(id).outputs;
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (results[i] == kNone) continue;
    const ValueId constant = graph.AddConstant(graph.value(results[i]).name + ".folded", std::move(outputs[i]));
    graph.ReplaceAllUses(results[i], constant);
  }
  graph.MarkDead(id);
  return {};
}

}  // namespace

// op(constant, ...) -> constant, and what follows from shapes alone, computed by the operator's own reference.
Result<bool> FoldConstants(Compilation& state) {
  bool changed = false;
  for (const NodeId id : state.graph.LiveNodes()) {
    if (!graph::FollowsFromConstants(state.graph, state.graph.node(id), kMostElements)) continue;
    TENON_TRY(Fold(state.graph, id));
    changed = true;
  }
  if (changed) TENON_TRY(state.graph.InferAll());
  return changed;
}

}  // namespace tenon::passes
