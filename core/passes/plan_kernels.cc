#include "core/passes/pass.h"

namespace tenon::passes {

Result<bool> PlanKernels(Compilation& state) {
  state.kernels.resize(static_cast<std::size_t>(state.graph.num_nodes()));
  for (const NodeId id : state.graph.LiveNodes()) {
    const graph::Node& node = state.graph.node(id);
    if (IsReorder(node) || IsAllReduce(node) || IsView(state, node)) continue;
    std::vector<LayoutId> inputs, outputs;
    for (const ValueId in : node.inputs) inputs.push_back(in == kNone ? graph::kStrided : state.LayoutOf(in));
    for (const ValueId out : node.outputs) outputs.push_back(out == kNone ? graph::kStrided : state.LayoutOf(out));
    auto planned = state.target->Plan(graph::QueryOf(state.graph, node), inputs, outputs);
    if (!planned.ok())
      return std::move(planned)
          .status()
          .At(node.place)
          .While(fmt::format("planning node '{}' ({})", node.name, node.FullName()));
    state.kernels[static_cast<std::size_t>(id)] = std::move(planned).value();
  }
  return false;  // the graph itself is as before
}

}  // namespace tenon::passes
