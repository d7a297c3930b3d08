#include "core/graph/flops.h"

#include <vector>

namespace tenon::graph {
namespace {

std::vector<const SymShape*> ShapesOf(const Graph& graph, const std::vector<ValueId>& ids) {
  std::vector<const SymShape*> shapes;
  for (const ValueId id : ids) shapes.push_back(id == kNone ? nullptr : &graph.value(id).type.shape);
  return shapes;
}

}  // namespace

std::int64_t FlopsOf(const Graph& graph, const Node& node) {
  if (node.def == nullptr) return node.fused != nullptr ? node.fused->flops : 0;
  const auto inputs = ShapesOf(graph, node.inputs), outputs = ShapesOf(graph, node.outputs);
  const Dim flops = node.def->Flops({node.attrs, inputs, outputs});
  return flops.known() ? flops.value() : -1;
}

}  // namespace tenon::graph
