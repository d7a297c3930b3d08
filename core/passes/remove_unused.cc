#include "core/passes/pass.h"

namespace tenon::passes {

namespace {

// An optional output that nobody reads is not produced.
bool DropUnreadOutputs(Graph& graph) {
  bool changed = false;
  for (const NodeId id : graph.LiveNodes()) {
    const graph::Node& node = graph.node(id);
    if (node.def == nullptr) continue;
    for (std::size_t i = 1; i < node.outputs.size() && i < node.def->outputs().size(); ++i) {
      const bool optional = node.def->outputs()[i].arity == Arity::kOptional;
      if (!optional || node.outputs[i] == kNone || graph.CountUses(node.outputs[i]) > 0) continue;
      graph.DropOutput(id, static_cast<int>(i));
      changed = true;
    }
  }
  return changed;
}

}  // namespace

Result<bool> RemoveUnused(Compilation& state) {
  const bool removed = state.graph.RemoveUnused();
  return DropUnreadOutputs(state.graph) || removed;
}

}  // namespace tenon::passes
