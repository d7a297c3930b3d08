// Results of chosen layers are computed again just before the backward nodes that read them, so that they need no memory
// between the two passes. Bits stay the same: the copies run the same operators on the same values.
#include <algorithm>
#include <map>

#include "core/base/text.h"
#include "core/passes/pass.h"

namespace tenon::passes {
namespace {

using graph::Node;

// The name of the layer that a pattern picks: the shortest dotted part of a node's name that it matches. Empty: none.
std::string LayerOf(const std::string& name, const std::vector<std::string>& patterns) {
  for (std::size_t end = name.find('.');; end = name.find('.', end + 1)) {
    const std::string part = name.substr(0, end);
    for (const std::string& pattern : patterns) {
      if (MatchesGlob(pattern, part)) return part;
    }
    if (end == std::string::npos) return "";
  }
}

std::string LayerOf(const Node& node, const std::vector<std::string>& patterns) {
  if (node.fused == nullptr) return LayerOf(node.name, patterns);
  for (const std::string& name : node.fused->replaced) {
    if (std::string layer = LayerOf(name, patterns); !layer.empty()) return layer;
  }
  return "";
}

// Appends copies of forward nodes and notes before which backward node each has to run.
class Recomputer {
 public:
  Recomputer(Compilation& state, std::vector<bool> again)
      : state_(state), graph_(state.graph), again_(std::move(again)) {}

  Result<bool> Run() {
    const std::vector<NodeId> live = graph_.LiveNodes();
    const auto loss = std::find(live.begin(), live.end(), graph_.value(state_.loss).producer);
    const auto nodes = static_cast<NodeId>(graph_.num_nodes());
    before_.resize(static_cast<std::size_t>(nodes));
    for (auto at = loss + 1; at < live.end(); ++at) {
      for (std::size_t i = 0; i < graph_.node(*at).inputs.size(); ++i) {
        const ValueId in = graph_.node(*at).inputs[i];
        if (!Again(in)) continue;
        TENON_ASSIGN(const ValueId copy, Copy(in, *at));
        graph_.node(*at).inputs[i] = copy;
      }
    }
    if (copies_.empty()) return false;
    std::vector<NodeId> order;
    for (NodeId id = 0; id < nodes; ++id) {
      const auto& copies = before_[static_cast<std::size_t>(id)];
      order.insert(order.end(), copies.begin(), copies.end());
      order.push_back(id);
    }
    state_.recomputed += static_cast<std::int64_t>(order.size()) - nodes;
    graph_.Permute(order);
    return true;
  }

 private:
  bool Again(ValueId id) const {
    return id != kNone && static_cast<std::size_t>(id) < again_.size() && again_[static_cast<std::size_t>(id)];
  }

  // The value computed again, at the latest before node `reader`.
  Result<ValueId> Copy(ValueId id, NodeId reader) {
    if (const auto found = copies_.find(id); found != copies_.end()) return found->second;
    const NodeId producer = graph_.value(id).producer;
    std::vector<ValueId> inputs = graph_.node(producer).inputs;
    for (ValueId& in : inputs) {
      if (!Again(in)) continue;
      TENON_ASSIGN(in, Copy(in, reader));
    }
    TENON_ASSIGN(const NodeId copy, CopyNode(producer, inputs));
    before_[static_cast<std::size_t>(reader)].push_back(copy);
    for (std::size_t i = 0; i < graph_.node(producer).outputs.size(); ++i) {
      const ValueId output = graph_.node(producer).outputs[i];
      if (Again(output)) {
        copies_[output] = graph_.node(copy).outputs[i];
      } else if (graph_.node(copy).outputs[i] != kNone && i > 0) {
        DropIfOptional(copy, i);
      }
    }
    return copies_.at(id);
  }

  Result<NodeId> CopyNode(NodeId id, const std::vector<ValueId>& inputs) {
    const Node node = graph_.node(id);  // a copy: the graph grows below
    const std::string name = node.name + ".again";
    if (node.fused == nullptr)
      return graph_.AddNode(node.domain, node.type, inputs, node.attrs, static_cast<int>(node.outputs.size()), name,
                            node.place, node.version);
    std::vector<ValueType> types;
    for (const ValueId output : node.outputs)
      types.push_back(output == kNone ? ValueType{} : graph_.value(output).type);
    const NodeId copy =
        graph_.AddFusedNode(node.domain, node.type, inputs, node.attrs, types, node.fused, name, node.place);
    for (std::size_t i = 0; i < types.size(); ++i) {
      if (!types[i].defined()) graph_.DropOutput(copy, static_cast<int>(i));
    }
    return copy;
  }

  void DropIfOptional(NodeId copy, std::size_t output) {
    const Node& node = graph_.node(copy);
    if (node.def == nullptr || output >= node.def->outputs().size()) return;
    if (node.def->outputs()[output].arity == Arity::kOptional) graph_.DropOutput(copy, static_cast<int>(output));
  }

  Compilation& state_;
  Graph& graph_;
  std::vector<bool> again_;  // by forward value
  std::map<ValueId, ValueId> copies_;
  std::vector<std::vector<NodeId>> before_;  // by node: copies that run just before it
};

}  // namespace

std::vector<bool> ValuesToRecompute(const Graph& graph, ValueId loss, const std::vector<std::string>& patterns) {
  std::vector<bool> again(static_cast<std::size_t>(graph.num_values()), false);
  std::vector<std::string> layer_of(static_cast<std::size_t>(graph.num_values()));
  std::vector<NodeId> forward;
  for (const NodeId id : graph.LiveNodes()) {
    forward.push_back(id);
    if (id == graph.value(loss).producer) break;
  }
  for (const NodeId id : forward) {
    const Node& node = graph.node(id);
    const bool random = node.def != nullptr && node.def->random();
    const std::string layer = random ? "" : LayerOf(node, patterns);
    for (const ValueId out : node.outputs) {
      if (out == kNone) continue;
      again[static_cast<std::size_t>(out)] = !layer.empty() && out != loss;
      layer_of[static_cast<std::size_t>(out)] = layer;
    }
    // What passes from one chosen layer to another is where the second one starts again.
    for (const ValueId in : node.inputs) {
      if (in != kNone && !layer.empty() && layer_of[static_cast<std::size_t>(in)] != layer)
        again[static_cast<std::size_t>(in)] = false;
    }
  }
  for (const ValueId output : graph.outputs) again[static_cast<std::size_t>(output)] = false;
  for (const graph::Update& update : graph.updates) again[static_cast<std::size_t>(update.value)] = false;
  return again;
}

// forward results of the chosen layers that backward nodes read -> copies of their nodes before those readers.
Result<bool> Recompute(Compilation& state) {
  if (state.recompute.empty() || !state.training()) return false;
  return Recomputer(state, ValuesToRecompute(state.graph, state.loss, state.recompute)).Run();
}

}  // namespace tenon::passes
