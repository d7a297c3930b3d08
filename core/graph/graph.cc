#include "core/graph/graph.h"

#include <algorithm>

namespace tenon::graph {

std::string_view NameOf(ValueKind kind) {
  switch (kind) {
    case ValueKind::kInput:
      return "input";
    case ValueKind::kParameter:
      return "parameter";
    case ValueKind::kState:
      return "state";
    case ValueKind::kConstant:
      return "constant";
    case ValueKind::kResult:
      return "result";
  }
  return "";
}

ValueId Graph::AddValue(std::string value_name, ValueKind kind, ValueType type) {
  ValueInfo info;
  info.name = UniqueValueName(value_name);
  info.kind = kind;
  info.type = type;
  const ValueId id = num_values();
  value_names_.emplace(info.name, id);
  values_.push_back(std::move(info));
  return id;
}

ValueId Graph::AddConstant(std::string value_name, Tensor tensor) {
  const ValueId id = AddValue(std::move(value_name), ValueKind::kConstant, {tensor.dtype(), SymShape(tensor.shape())});
  value(id).constant = std::move(tensor);
  return id;
}

namespace {

std::string Numbered(std::string_view base, int number) { return fmt::format("{}.{}", base, number); }

}  // namespace

std::string Graph::UniqueValueName(std::string_view base) const {
  std::string candidate(base.empty() ? "v" : base);
  for (int number = 1; value_names_.count(candidate) > 0; ++number)
    candidate = Numbered(base.empty() ? "v" : base, number);
  return candidate;
}

std::string Graph::UniqueNodeName(std::string_view base) const {
  std::string candidate(base);
  for (int number = 1; node_names_.count(candidate) > 0; ++number) candidate = Numbered(base, number);
  return candidate;
}

namespace {

constexpr std::int64_t kMostShapeValues = 1024;

// Every dim that the rule does not know becomes a symbol of its own.
ValueType NameUnknown(ValueType type, const std::string& value_name) {
  for (int axis = 0; axis < type.shape.rank(); ++axis) {
    if (!(type.shape[axis] == Dim::Unknown())) continue;
    std::string symbol = fmt::format("{}.{}", value_name, axis);
    std::replace(symbol.begin(), symbol.end(), ':', '.');
    type.shape.set_dim(axis, Dim::Symbol(symbol));
  }
  return type;
}

}  // namespace

bool FollowsFromConstants(const Graph& graph, const Node& node, std::int64_t most_elements) {
  if (node.def == nullptr || node.def->random()) return false;
  for (const ValueId input : node.inputs) {
    if (input == kNone) continue;
    const ValueInfo& value = graph.value(input);
    if (!value.constant.defined() && !(node.def->from_shapes() && value.type.shape.known())) return false;
  }
  for (const ValueId output : node.outputs) {
    if (output == kNone) continue;
    const SymShape& shape = graph.value(output).type.shape;
    if (!shape.known() || shape.Concrete().elements() > most_elements) return false;
  }
  return true;
}

Result<std::vector<Tensor>> EvaluateNode(const Graph& graph, const Node& node) {
  std::vector<Tensor> inputs, outputs;
  for (const ValueId input : node.inputs) {
    if (input == kNone) {
      inputs.emplace_back();
    } else if (graph.value(input).constant.defined()) {
      inputs.push_back(graph.value(input).constant);
    } else {  // only the shape is known, and only the shape is read
      const ValueType& type = graph.value(input).type;
      inputs.push_back(Tensor::FromOwner(type.dtype, type.shape.Concrete(), nullptr, nullptr));
    }
  }
  for (const ValueId output : node.outputs) {
    outputs.push_back(
        output == kNone ? Tensor() : Tensor(graph.value(output).type.dtype, graph.value(output).type.shape.Concrete()));
  }
  const ReferenceArgs args{node.attrs, inputs, outputs, {}};
  const Status status = node.def->reference()(args);
  if (!status.ok())
    return Status(status)
        .At(node.place)
        .While(fmt::format("computing the constant result of node '{}' ({})", node.name, node.FullName()));
  return outputs;
}

Status Graph::InferNode(Node& target) {
  if (target.def == nullptr) return {};  // fused: types were fixed when it was made
  std::vector<ValueType> types;
  std::vector<const Tensor*> constants;
  for (const ValueId input : target.inputs) {
    types.push_back(input == kNone ? ValueType{} : value(input).type);
    const bool known = input != kNone && value(input).constant.defined();
    constants.push_back(known ? &value(input).constant : nullptr);
  }
  const auto inferred = target.def->InferOutputs(target.attrs, types, constants, target.outputs.size());
  if (!inferred.ok())
    return Status(inferred.status())
        .At(target.place)
        .While(fmt::format("inferring the shape of node '{}' ({})", target.name, target.FullName()));
  for (std::size_t i = 0; i < target.outputs.size(); ++i) {
    if (target.outputs[i] == kNone) continue;
    ValueInfo& output = value(target.outputs[i]);
    output.type = NameUnknown((*inferred)[i], output.name);
  }
  return FindValues(target);
}

// Values that a later rule may need as a shape: those of small results of constants and shapes.
Status Graph::FindValues(Node& target) {
  for (const ValueId output : target.outputs) {
    if (output != kNone) value(output).constant = Tensor();
  }
  if (!FollowsFromConstants(*this, target, kMostShapeValues)) return {};
  TENON_ASSIGN(const std::vector<Tensor> results, EvaluateNode(*this, target));
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (target.outputs[i] != kNone) value(target.outputs[i]).constant = results[i];
  }
  return {};
}

Result<NodeId> Graph::AddNode(std::string_view domain, std::string_view type, std::span<const ValueId> inputs,
                              Attributes attrs, int outputs_wanted, std::string node_name, std::string place,
                              int version, const std::vector<std::string>& output_names) {
  Node added;
  added.domain = domain;
  added.type = type;
  added.version = version;
  added.name = UniqueNodeName(node_name.empty() ? type : node_name);
  added.place = std::move(place);
  auto found = ops_->Find(domain, type, version);
  if (!found.ok()) return std::move(found).status().At(added.place).While(fmt::format("adding node '{}'", added.name));
  added.def = *found;
  Status completed = added.def->Complete(attrs);
  if (!completed.ok())
    return std::move(completed).At(added.place).While(fmt::format("checking the attributes of node '{}'", added.name));
  added.attrs = std::move(attrs);
  added.inputs.assign(inputs.begin(), inputs.end());
  while (!added.inputs.empty() && added.inputs.back() == kNone) added.inputs.pop_back();
  const NodeId id = num_nodes();
  for (int i = 0; i < outputs_wanted; ++i) {
    const auto index = static_cast<std::size_t>(i);
    std::string result = index < output_names.size() ? output_names[index] : "";
    if (result.empty()) result = i == 0 ? added.name : fmt::format("{}:{}", added.name, i);
    const ValueId out = AddValue(std::move(result), ValueKind::kResult, {});
    value(out).producer = id;
    value(out).producer_output = i;
    added.outputs.push_back(out);
  }
  node_names_.emplace(added.name, id);
  nodes_.push_back(std::move(added));
  TENON_TRY(InferNode(nodes_.back()));
  return id;
}

NodeId Graph::AddFusedNode(std::string domain, std::string type, std::span<const ValueId> inputs, Attributes attrs,
                           std::span<const ValueType> output_types, std::shared_ptr<const FusedOp> fused,
                           std::string node_name, std::string place) {
  Node added;
  added.domain = std::move(domain);
  added.type = std::move(type);
  added.version = fused->version;
  added.fused = std::move(fused);
  added.name = UniqueNodeName(node_name.empty() ? added.type : node_name);
  added.place = std::move(place);
  added.attrs = std::move(attrs);
  added.inputs.assign(inputs.begin(), inputs.end());
  const NodeId id = num_nodes();
  for (std::size_t i = 0; i < output_types.size(); ++i) {
    const ValueId out = AddValue(fmt::format("{}:{}", added.name, i), ValueKind::kResult, output_types[i]);
    value(out).producer = id;
    value(out).producer_output = static_cast<int>(i);
    added.outputs.push_back(out);
  }
  node_names_.emplace(added.name, id);
  nodes_.push_back(std::move(added));
  return id;
}

std::vector<NodeId> Graph::LiveNodes() const {
  std::vector<NodeId> live;
  for (NodeId id = 0; id < num_nodes(); ++id) {
    if (!node(id).dead) live.push_back(id);
  }
  return live;
}

ValueId Graph::FindValue(std::string_view value_name) const {
  const auto found = value_names_.find(std::string(value_name));
  return found == value_names_.end() ? kNone : found->second;
}

std::vector<NodeId> Graph::Readers(ValueId id) const {
  std::vector<NodeId> readers;
  for (NodeId at = 0; at < num_nodes(); ++at) {
    const Node& reader = node(at);
    if (reader.dead) continue;
    if (std::find(reader.inputs.begin(), reader.inputs.end(), id) != reader.inputs.end()) readers.push_back(at);
  }
  return readers;
}

int Graph::CountUses(ValueId id) const {
  std::ptrdiff_t uses = std::count(outputs.begin(), outputs.end(), id);
  for (const Node& reader : nodes_) {
    if (!reader.dead) uses += std::count(reader.inputs.begin(), reader.inputs.end(), id);
  }
  for (const Update& update : updates) uses += update.value == id ? 1 : 0;
  return static_cast<int>(uses);
}

void Graph::ReplaceAllUses(ValueId from, ValueId to) {
  for (Node& reader : nodes_) {
    if (!reader.dead) std::replace(reader.inputs.begin(), reader.inputs.end(), from, to);
  }
  std::replace(outputs.begin(), outputs.end(), from, to);
  for (Update& update : updates) {
    if (update.value == from) update.value = to;
  }
}

void Graph::RenameValue(ValueId id, std::string new_name) {
  value_names_.erase(value(id).name);
  value(id).name = UniqueValueName(new_name);
  value_names_.emplace(value(id).name, id);
}

Result<ValueId> Graph::RequireOutput(NodeId id, int output) {
  const auto index = static_cast<std::size_t>(output);
  if (node(id).outputs.size() <= index) node(id).outputs.resize(index + 1, kNone);
  if (node(id).outputs[index] == kNone) {
    const ValueId out = AddValue(fmt::format("{}:{}", node(id).name, output), ValueKind::kResult, {});
    value(out).producer = id;
    value(out).producer_output = output;
    node(id).outputs[index] = out;
    TENON_TRY(InferNode(node(id)));
  }
  return node(id).outputs[index];
}

bool Graph::RemoveUnused() {
  std::vector<bool> used(values_.size(), false);
  for (const ValueId id : outputs) used[static_cast<std::size_t>(id)] = true;
  for (const Update& update : updates) used[static_cast<std::size_t>(update.value)] = true;
  bool changed = false;
  for (NodeId id = num_nodes() - 1; id >= 0; --id) {
    Node& candidate = node(id);
    if (candidate.dead) continue;
    const bool needed = std::any_of(candidate.outputs.begin(), candidate.outputs.end(),
                                    [&](ValueId out) { return out != kNone && used[static_cast<std::size_t>(out)]; });
    if (!needed) {
      candidate.dead = true;
      changed = true;
      continue;
    }
    for (const ValueId input : candidate.inputs) {
      if (input != kNone) used[static_cast<std::size_t>(input)] = true;
    }
  }
  return changed;
}

void Graph::Permute(std::span<const NodeId> order) {
  std::vector<Node> permuted;
  permuted.reserve(nodes_.size());
  for (const NodeId id : order) permuted.push_back(std::move(node(id)));
  nodes_ = std::move(permuted);
  for (NodeId id = 0; id < num_nodes(); ++id) {
    for (const ValueId out : node(id).outputs) {
      if (out != kNone) value(out).producer = id;
    }
    node_names_[node(id).name] = id;
  }
}

Status Graph::InferAll() {
  for (Node& target : nodes_) {
    if (!target.dead) TENON_TRY(InferNode(target));
  }
  return {};
}

}  // namespace tenon::graph
