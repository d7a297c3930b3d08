#include <algorithm>

#include "core/graph/flops.h"
#include "core/passes/pass.h"

namespace tenon::passes {
namespace {

using graph::FusedOp;
using graph::FusionRule;
using graph::PatternMatch;

bool InputsKnown(const Graph& graph, const PatternMatch& match) {
  return std::all_of(match.values.begin(), match.values.end(), [&](const auto& entry) {
    return entry.second == kNone || graph.value(entry.second).type.shape.known();
  });
}

ValueType SavedType(const Graph& graph, const PatternMatch& match, const graph::SavedValue& saved) {
  ValueType type;
  for (const auto& entry : match.values) {
    if (entry.first == saved.like && entry.second != kNone) type = graph.value(entry.second).type;
  }
  if (saved.dtype != DType::kUndefined) type.dtype = saved.dtype;
  for (const std::int64_t dim : saved.extra_dims) type.shape.push_back(dim);
  return type;
}

std::vector<ValueType> OutputTypes(const Graph& graph, const FusionRule& rule, const PatternMatch& match) {
  std::vector<ValueType> types;
  for (const ValueId id : match.returns) types.push_back(graph.value(id).type);
  for (const graph::SavedValue& saved : rule.saved) types.push_back(SavedType(graph, match, saved));
  return types;
}

graph::KernelQuery QueryFor(const FusionRule& rule, const std::string& type, int version, const Attributes& attrs) {
  graph::KernelQuery query;
  query.domain = rule.domain;
  query.type = type;
  query.version = version;
  query.fused = &rule.node;
  query.attrs = &attrs;
  return query;
}

// Without a kernel for these shapes the pattern does not match; the gradient needs one as well.
Status CheckKernels(Compilation& state, const FusionRule& rule, const PatternMatch& match, const Attributes& attrs,
                    bool gradient_needed) {
  graph::KernelQuery query = QueryFor(rule, rule.type, rule.version, attrs);
  for (const ValueId id : match.inputs) query.inputs.push_back(id == kNone ? ValueType{} : state.graph.value(id).type);
  query.outputs = OutputTypes(state.graph, rule, match);
  if (!gradient_needed) {
    for (std::size_t i = match.returns.size(); i < query.outputs.size(); ++i) query.outputs[i] = {};
  }
  TENON_TRY(state.target->Offer(query));
  if (!gradient_needed) return {};
  graph::KernelQuery backward = QueryFor(rule, rule.node.gradient_type, rule.node.gradient_version, attrs);
  for (const FusedOp::Source& source : rule.node.gradient_inputs) {
    const auto& from = source.kind == FusedOp::Source::Kind::kInput ? query.inputs : query.outputs;
    const auto index = static_cast<std::size_t>(source.index);
    backward.inputs.push_back(index < from.size() ? from[index] : ValueType{});
  }
  for (const int input : rule.node.gradient_outputs) {
    const auto index = static_cast<std::size_t>(input);
    backward.outputs.push_back(index < query.inputs.size() ? query.inputs[index] : ValueType{});
  }
  TENON_TRY(state.target->Offer(backward));
  return {};
}

// The node that the fused one comes right after: the last matched one, or where somebody reads a result before that, the
// last one that makes an operand (-1: none does). Absent: a result is read before the operands exist.
std::optional<NodeId> PlaceAfter(const Graph& graph, const PatternMatch& match) {
  const NodeId last = *std::max_element(match.nodes.begin(), match.nodes.end());
  NodeId first_reader = graph.num_nodes(), ready = kNone;
  for (const ValueId id : match.returns) {
    for (const NodeId reader : graph.Readers(id)) {
      const bool inside = std::find(match.nodes.begin(), match.nodes.end(), reader) != match.nodes.end();
      if (!inside) first_reader = std::min(first_reader, reader);
    }
  }
  for (const ValueId id : match.inputs) {
    if (id != kNone) ready = std::max(ready, graph.value(id).producer);
  }
  if (first_reader > last) return last;
  return first_reader > ready ? std::optional<NodeId>(ready) : std::nullopt;
}

void ReplaceMatch(Compilation& state, const FusionRule& rule, const PatternMatch& match, Attributes attrs,
                  bool keep_saved, NodeId after) {
  Graph& graph = state.graph;
  auto fused = std::make_shared<FusedOp>(rule.node);
  fused->pattern = rule.name;
  std::string name;
  for (const NodeId id : match.nodes) {
    fused->replaced.push_back(graph.node(id).name);
    const std::int64_t flops = graph::FlopsOf(graph, graph.node(id));
    fused->flops = flops < 0 || fused->flops < 0 ? -1 : fused->flops + flops;
    name += (name.empty() ? "" : "+") + graph.node(id).name;
  }
  const std::vector<ValueType> types = OutputTypes(graph, rule, match);
  const NodeId added = graph.AddFusedNode(rule.domain, rule.type, match.inputs, std::move(attrs), types, fused, name,
                                          graph.node(match.nodes.front()).place);
  for (std::size_t i = 0; i < match.returns.size(); ++i) {
    const ValueId replaced = match.returns[i];
    const std::string result = graph.value(replaced).name;
    graph.ReplaceAllUses(replaced, graph.node(added).outputs[i]);
    graph.RenameValue(replaced, result + ".unfused");
    graph.RenameValue(graph.node(added).outputs[i], result);
    if (state.loss == replaced) state.loss = graph.node(added).outputs[i];
  }
  if (!keep_saved) {
    for (std::size_t i = match.returns.size(); i < types.size(); ++i) graph.DropOutput(added, static_cast<int>(i));
  }
  for (const NodeId id : match.nodes) graph.MarkDead(id);
  std::vector<NodeId> order;
  if (after == kNone) order.push_back(added);
  for (NodeId id = 0; id < added; ++id) {
    order.push_back(id);
    if (id == after) order.push_back(added);
  }
  graph.Permute(order);
}

bool TouchesTrained(const Compilation& state, const std::vector<bool>& needs, const PatternMatch& match) {
  if (!state.training()) return false;
  return std::any_of(match.inputs.begin(), match.inputs.end(),
                     [&](ValueId id) { return id != kNone && needs[static_cast<std::size_t>(id)]; });
}

std::vector<bool> DependsOnTrained(const Compilation& state) {
  std::vector<bool> needs(static_cast<std::size_t>(state.graph.num_values()), false);
  for (const ValueId id : state.trained) needs[static_cast<std::size_t>(id)] = true;
  for (const NodeId id : state.graph.LiveNodes()) {
    const graph::Node& node = state.graph.node(id);
    const bool any = std::any_of(node.inputs.begin(), node.inputs.end(),
                                 [&](ValueId in) { return in != kNone && needs[static_cast<std::size_t>(in)]; });
    for (const ValueId out : node.outputs) {
      if (out != kNone && any) needs[static_cast<std::size_t>(out)] = true;
    }
  }
  return needs;
}

// One rule at one place; true when it was replaced.
bool TryRule(Compilation& state, const FusionRule& rule, NodeId anchor) {
  const auto match = graph::MatchAt(state.graph, rule.pattern, anchor);
  if (!match || !InputsKnown(state.graph, *match)) return false;
  const bool gradient_needed = !rule.after_autodiff && TouchesTrained(state, DependsOnTrained(state), *match);
  if (gradient_needed && !rule.has_gradient) return false;
  Attributes attrs = CollectAttributes(state.graph, rule.pattern, *match);
  std::string why;
  if (!rule.accept(state.graph, *match, attrs, gradient_needed, &why)) {
    state.notes.push_back(fmt::format("fusion {} at '{}' refused: {}", rule.name, state.graph.node(anchor).name, why));
    return false;
  }
  const Status kernels = CheckKernels(state, rule, *match, attrs, gradient_needed);
  if (!kernels.ok()) {
    state.notes.push_back(
        fmt::format("fusion {} at '{}' refused: {}", rule.name, state.graph.node(anchor).name, kernels.message()));
    return false;
  }
  const auto after = PlaceAfter(state.graph, *match);
  if (!after) {
    state.notes.push_back(fmt::format("fusion {} at '{}' refused: a result is read before all operands exist",
                                      rule.name, state.graph.node(anchor).name));
    return false;
  }
  ReplaceMatch(state, rule, *match, std::move(attrs), gradient_needed, *after);
  ++state.fusions[rule.name];
  return true;
}

bool FuseStage(Compilation& state, bool after_autodiff) {
  bool changed = false;
  for (const FusionRule& rule : state.target->Fusions()) {  // best first
    if (rule.after_autodiff != after_autodiff) continue;
    for (NodeId id = 0; id < state.graph.num_nodes(); ++id) {
      if (!state.graph.node(id).dead && TryRule(state, rule, id)) changed = true;
    }
  }
  return changed;
}

}  // namespace

Result<bool> FuseBeforeAutodiff(Compilation& state) { return FuseStage(state, false); }
Result<bool> FuseAfterAutodiff(Compilation& state) { return FuseStage(state, true); }

}  // namespace tenon::passes
