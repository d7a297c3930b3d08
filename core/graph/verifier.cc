#include <set>

#include "core/graph/graph.h"

namespace tenon::graph {
namespace {

Status VerifyNode(const Graph& graph, NodeId id, const std::vector<bool>& ready) {
  const Node& node = graph.node(id);
  if (node.def == nullptr && node.fused == nullptr)
    return Error(Code::kInternal, "Node '{}' ({}) has no definition.", node.name, node.FullName());
  for (const ValueId input : node.inputs) {
    if (input == kNone) continue;
    if (input < 0 || input >= graph.num_values())
      return Error(Code::kInternal, "Node '{}' reads a value that does not exist ({}).", node.name, input);
    if (!ready[static_cast<std::size_t>(input)])
      return Error(Code::kInternal, "Node '{}' reads %{} before it is produced.", node.name, graph.value(input).name);
  }
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i] == kNone) continue;
    const ValueInfo& value = graph.value(node.outputs[i]);
    if (value.producer != id || value.producer_output != static_cast<int>(i))
      return Error(Code::kInternal, "Value %{} does not point back to its producer '{}'.", value.name, node.name);
    if (!value.type.defined())
      return Error(Code::kInternal, "Value %{} of node '{}' has no type.", value.name, node.name);
  }
  return {};
}

Status VerifyTypes(const Graph& graph) {
  Graph copy = graph;
  TENON_TRY(copy.InferAll());
  for (ValueId id = 0; id < graph.num_values(); ++id) {
    if (graph.value(id).kind != ValueKind::kResult || graph.node(graph.value(id).producer).dead) continue;
    const ValueType& stated = graph.value(id).type;
    const ValueType& inferred = copy.value(id).type;
    if (!(stated == inferred))
      return Error(Code::kInternal, "Value %{} has type {} but its rule gives {}.", graph.value(id).name,
                   stated.ToString(), inferred.ToString());
  }
  return {};
}

}  // namespace

Status Verify(const Graph& graph) {
  std::vector<bool> ready(static_cast<std::size_t>(graph.num_values()), false);
  std::set<std::string> names;
  for (ValueId id = 0; id < graph.num_values(); ++id) {
    const ValueInfo& value = graph.value(id);
    ready[static_cast<std::size_t>(id)] = value.kind != ValueKind::kResult;
    if (!names.insert(value.name).second) return Error(Code::kInternal, "Two values are called %{}.", value.name);
  }
  for (const NodeId id : graph.LiveNodes()) {
    TENON_TRY(VerifyNode(graph, id, ready));
    for (const ValueId out : graph.node(id).outputs) {
      if (out != kNone) ready[static_cast<std::size_t>(out)] = true;
    }
  }
  for (const ValueId id : graph.outputs) {
    if (!ready[static_cast<std::size_t>(id)])
      return Error(Code::kInternal, "The graph returns %{}, which no node produces.", graph.value(id).name);
  }
  for (const Update& update : graph.updates) {
    const ValueKind kind = graph.value(update.state).kind;
    if (kind != ValueKind::kParameter && kind != ValueKind::kState)
      return Error(Code::kInternal, "The graph updates %{}, which is not kept across runs.",
                   graph.value(update.state).name);
    if (!ready[static_cast<std::size_t>(update.value)])
      return Error(Code::kInternal, "The update of %{} reads %{}, which no node produces.",
                   graph.value(update.state).name, graph.value(update.value).name);
  }
  return VerifyTypes(graph);
}

}  // namespace tenon::graph
