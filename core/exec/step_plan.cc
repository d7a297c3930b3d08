#include "core/exec/step_plan.h"

#include <algorithm>
#include <map>
#include <set>

#include "core/graph/flops.h"

namespace tenon::exec {
namespace {

using graph::kNone;
using graph::NodeId;
using graph::ValueId;
using graph::ValueKind;

// "conv1.grad.ConvWeightGrad" and the fused "conv1.grad" belong to "conv1".
constexpr std::string_view kGrad = ".grad";
bool IsGradient(const std::string& node) { return node.find(".grad.") != std::string::npos || node.ends_with(kGrad); }
std::string LayerOf(const std::string& node) {
  if (node.ends_with(kGrad)) return node.substr(0, node.size() - kGrad.size());
  return node.substr(0, node.find(".grad."));
}

class Describer {
 public:
  Describer(const Program& program, DeviceTarget& target)
      : state_(program.compilation()), graph_(program.graph()), target_(target) {
    plan_.arena_bytes = program.arena_bytes();
    for (const graph::Update& update : graph_.updates) {
      if (graph_.value(update.state).kind == ValueKind::kParameter) new_values_.insert(update.value);
    }
  }

  StepPlan Run() {
    CountVariables();
    for (const NodeId id : graph_.LiveNodes()) AddNode(id);
    return std::move(plan_);
  }

 private:
  std::int64_t BytesOf(ValueId id) const { return state_.memory.bytes[static_cast<std::size_t>(id)]; }
  bool OwnsArena(ValueId id) const {
    const auto index = static_cast<std::size_t>(id);
    return state_.memory.root[index] == id && state_.memory.arena_offset[index] >= 0;
  }
  // Does the node give parameters their new values?
  bool IsUpdate(const graph::Node& node) const {
    return std::any_of(node.outputs.begin(), node.outputs.end(),
                       [&](ValueId out) { return new_values_.count(out) > 0; });
  }

  void CountVariables() {
    for (ValueId id = 0; id < graph_.num_values(); ++id) {
      const graph::ValueInfo& value = graph_.value(id);
      if (value.kind == ValueKind::kParameter || value.kind == ValueKind::kState) plan_.variable_bytes += BytesOf(id);
      if (value.kind == ValueKind::kConstant) plan_.constant_bytes += BytesOf(id);
      if (value.kind == ValueKind::kParameter) plan_.parameters += value.type.shape.Concrete().elements();
    }
  }

  StepPlan::Layer& LayerFor(const graph::Node& node) {
    const std::string name = LayerOf(node.name);
    const auto [found, added] = layer_of_.try_emplace(name, plan_.layers.size());
    if (added) {
      plan_.layers.emplace_back();
      plan_.layers.back().name = name;
      plan_.layers.back().op = node.FullName();
    }
    return plan_.layers[found->second];
  }

  void AddNode(NodeId id) {
    const graph::Node& node = graph_.node(id);
    const auto& kernel = state_.kernels[static_cast<std::size_t>(id)];
    StepPlan::Node row{node.name, node.FullName(), "view", {}, graph::FlopsOf(graph_, node)};
    if (passes::IsReorder(node)) row.kernel = "reorder";
    if (passes::IsAllReduce(node)) row.kernel = "all-reduce";
    if (kernel != nullptr) {
      row.kernel = kernel->name();
      row.refused = target_.Refusals(graph::QueryOf(graph_, node));
    }
    StepPlan::Layer& layer = LayerFor(node);
    if (row.flops > 0) {
      layer.flops += row.flops;
      plan_.flops += row.flops;
    }
    if (kernel != nullptr) layer.workspace = std::max(layer.workspace, kernel->workspace_bytes());
    AddOperands(node, layer);
    plan_.nodes.push_back(std::move(row));
  }

  void AddOperands(const graph::Node& node, StepPlan::Layer& layer) {
    const bool gradient = IsGradient(node.name), update = IsUpdate(node);
    for (const ValueId in : node.inputs) {
      if (in == kNone || !counted_.insert(in).second) continue;
      const ValueKind kind = graph_.value(in).kind;
      const bool kept = kind == ValueKind::kParameter || kind == ValueKind::kState;
      if (kept) (update ? layer.optimizer : layer.weights) += BytesOf(in);
    }
    for (const ValueId out : node.outputs) {
      if (out != kNone && OwnsArena(out)) (gradient ? layer.gradients : layer.activations) += BytesOf(out);
    }
  }

  const passes::Compilation& state_;
  const graph::Graph& graph_;
  DeviceTarget& target_;
  StepPlan plan_;
  std::map<std::string, std::size_t> layer_of_;
  std::set<ValueId> new_values_;  // of parameters
  std::set<ValueId> counted_;
};

}  // namespace

StepPlan DescribeStep(const Program& program, DeviceTarget& target) { return Describer(program, target).Run(); }

}  // namespace tenon::exec
