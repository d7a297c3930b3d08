#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/status.h"
#include "core/ops/op_def.h"

namespace tenon::graph {

using ValueId = std::int32_t;
using NodeId = std::int32_t;
inline constexpr std::int32_t kNone = -1;

enum class ValueKind {
  kInput,      // fed at each run
  kParameter,  // trained; kept across runs
  kState,      // kept across runs, not trained: running statistics, optimiser state
  kConstant,   // known at compile time
  kResult,     // produced by a node
};
std::string_view NameOf(ValueKind kind);

// One tensor of the graph.
struct ValueInfo {
  std::string name;  // unique in the graph, not empty
  ValueKind kind = ValueKind::kResult;
  ValueType type;           // dtype undefined until inferred
  NodeId producer = kNone;  // kResult
  int producer_output = 0;  // kResult
  // kConstant; kResult: where the value follows from constants and shapes alone and is small enough to be a shape.
  Tensor constant;
};

// An operator that a device plugin put in place of several nodes (plugin ABI, subgraph.h). It has no definition in the
// core: its output types were fixed when it was matched, its gradient is the paired operator.
struct FusedOp {
  std::string pattern;  // name of the plugin's pattern, for listings
  int version = 1;      // of the fused operator
  int gradient_version = 1;
  std::vector<std::string> replaced;  // names of the user's nodes
  std::int64_t flops = 0;             // of what it replaced (flops.h); -1: not known
  // Paired gradient: operator of the same domain; empty when the fusion happened after autodiff.
  std::string gradient_type;
  // What the gradient operator reads, in order: forward inputs, outputs, output gradients.
  struct Source {
    enum class Kind { kInput, kOutput, kOutputGrad } kind;
    int index;
  };
  std::vector<Source> gradient_inputs;
  // Which forward input each output of the gradient operator belongs to.
  std::vector<int> gradient_outputs;
  std::vector<OpDef::InPlacePair> in_place;
};

// One application of an operator.
struct Node {
  std::string domain;  // "" is ONNX
  std::string type;
  int version = 0;             // opset that the model states; 0 = newest
  const OpDef* def = nullptr;  // null only for fused operators of plugins
  std::shared_ptr<const FusedOp> fused;
  std::string name;              // unique, the user's where there is one; backward nodes are "<forward>.grad..."
  std::string place;             // "run.yaml:14:5", empty when there is none
  Attributes attrs;              // completed against the definition
  std::vector<ValueId> inputs;   // kNone: absent optional input
  std::vector<ValueId> outputs;  // kNone: output not wanted
  bool dead = false;
  std::string FullName() const { return domain.empty() ? type : domain + "." + type; }
};

// A new value of something kept across runs: after the run `state` holds `value`.
struct Update {
  ValueId state;
  ValueId value;
};

// A program in single-assignment form. Nodes are kept in an order in which producers come before their readers.
// Invariants (checked by Verify): names are unique; every input of a node is produced before it; types agree with the
// shape rules. Not synchronised.
class Graph {
 public:
  // Operators are looked up in `ops`, which must outlive the graph.
  explicit Graph(const OpRegistry& ops = BuiltinOps()) : ops_(&ops) {}

  std::string name = "graph";

  ValueId AddInput(std::string id, ValueType type) { return AddValue(std::move(id), ValueKind::kInput, type); }
  ValueId AddParameter(std::string id, ValueType type) { return AddValue(std::move(id), ValueKind::kParameter, type); }
  ValueId AddState(std::string id, ValueType type) { return AddValue(std::move(id), ValueKind::kState, type); }
  ValueId AddConstant(std::string id, Tensor tensor);
  const OpRegistry& ops() const { return *ops_; }

  // Appends a node with `outputs` results; their types are inferred at once. `name` empty: made from the type. The error
  // names the node. `wanted[i]` false leaves output i out.
  Result<NodeId> AddNode(std::string_view domain, std::string_view type, std::span<const ValueId> inputs,
                         Attributes attrs, int outputs, std::string node_name = "", std::string place = "",
                         int version = 0, const std::vector<std::string>& output_names = {});
  // Appends a fused operator with given output types.
  NodeId AddFusedNode(std::string domain, std::string type, std::span<const ValueId> inputs, Attributes attrs,
                      std::span<const ValueType> output_types, std::shared_ptr<const FusedOp> fused,
                      std::string node_name, std::string place);

  Node& node(NodeId id) { return nodes_[static_cast<std::size_t>(id)]; }
  const Node& node(NodeId id) const { return nodes_[static_cast<std::size_t>(id)]; }
  ValueInfo& value(ValueId id) { return values_[static_cast<std::size_t>(id)]; }
  const ValueInfo& value(ValueId id) const { return values_[static_cast<std::size_t>(id)]; }
  std::int32_t num_nodes() const { return static_cast<std::int32_t>(nodes_.size()); }  // dead ones included
  std::int32_t num_values() const { return static_cast<std::int32_t>(values_.size()); }
  std::vector<NodeId> LiveNodes() const;           // in program order
  ValueId FindValue(std::string_view name) const;  // kNone when absent

  std::vector<ValueId> outputs;  // results handed to the caller
  std::vector<Update> updates;

  // Nodes that read a value, each once.
  std::vector<NodeId> Readers(ValueId id) const;
  int CountUses(ValueId id) const;  // node inputs + graph outputs + updates
  void ReplaceAllUses(ValueId from, ValueId to);
  void MarkDead(NodeId id) { node(id).dead = true; }
  void RenameValue(ValueId id, std::string new_name);
  // The output is not wanted any more; nobody may read it.
  void DropOutput(NodeId id, int output) { node(id).outputs[static_cast<std::size_t>(output)] = kNone; }
  // Makes the node produce its optional output, inferred at once.
  Result<ValueId> RequireOutput(NodeId id, int output);
  // Marks nodes dead whose results nobody reads (transitively); returns whether there were any.
  bool RemoveUnused();
  // Puts the nodes into a new order, a permutation of all node ids; ids change accordingly.
  void Permute(std::span<const NodeId> order);
  // Infers the output types of a node again, after its inputs changed.
  Status Infer(NodeId id) { return InferNode(node(id)); }
  // Infers the types of all nodes again in order.
  Status InferAll();
  // A name that no value has: `base`, or `base` with a number.
  std::string UniqueValueName(std::string_view base) const;
  std::string UniqueNodeName(std::string_view base) const;

 private:
  ValueId AddValue(std::string value_name, ValueKind kind, ValueType type);
  Status InferNode(Node& node);
  Status FindValues(Node& node);

  const OpRegistry* ops_;
  std::vector<Node> nodes_;
  std::vector<ValueInfo> values_;
  std::unordered_map<std::string, ValueId> value_names_;
  std::unordered_map<std::string, int> node_names_;
};

// Whether the results of a node can be computed before a run, and have at most `most_elements` elements each.
bool FollowsFromConstants(const Graph& graph, const Node& node, std::int64_t most_elements);
// Computes them with the operator's own reference; outputs that are not wanted are undefined.
Result<std::vector<Tensor>> EvaluateNode(const Graph& graph, const Node& node);

// Checks the invariants of Graph; the error names the node or value.
Status Verify(const Graph& graph);

// Text form; Parse(Print(g)) prints the same text again. See docs/reference/graph_text.md for the grammar.
std::string Print(const Graph& graph);
Result<Graph> Parse(std::string_view text, std::string_view source_name);

}  // namespace tenon::graph
