#include "core/graph/target.h"

namespace tenon::graph {

KernelQuery QueryOf(const Graph& graph, const Node& node) {
  KernelQuery query;
  query.domain = node.domain;
  query.type = node.type;
  query.version = node.version;
  query.def = node.def;
  query.fused = node.fused.get();
  query.attrs = &node.attrs;
  for (const ValueId input : node.inputs) {
    query.inputs.push_back(input == kNone ? ValueType{} : graph.value(input).type);
    const ValueKind kind = input == kNone ? ValueKind::kResult : graph.value(input).kind;
    query.constant.push_back(kind == ValueKind::kConstant || kind == ValueKind::kParameter);
    query.content.push_back(input == kNone ? Tensor() : graph.value(input).constant);
  }
  for (const ValueId output : node.outputs)
    query.outputs.push_back(output == kNone ? ValueType{} : graph.value(output).type);
  return query;
}

}  // namespace tenon::graph
