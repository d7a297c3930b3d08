#include <algorithm>
#include <map>
#include <utility>

#include "core/base/text.h"
#include "core/passes/pass.h"

namespace tenon::passes {
namespace {

using graph::Node;
using graph::ValueKind;
using Level = Precision::Level;

// What an operator does with a float32 or low-precision input.
enum class Rule {
  kLow,     // computes in the low precision
  kFull,    // computes in float32
  kFollow,  // takes what the operator before gave; constants and parameters are converted to it
};

Rule RuleOf(const Precision& precision, const Node& node) {
  for (const std::string& pattern : precision.keep) {
    if (MatchesGlob(pattern, node.name) || MatchesGlob(pattern + ".*", node.name) || pattern == node.type)
      return Rule::kFull;
  }
  const LowPrecision effect = node.def->low_precision();
  const bool product = effect == LowPrecision::kGains, normalizes = effect == LowPrecision::kNormalizes;
  if (effect == LowPrecision::kNever) return Rule::kFull;
  switch (precision.level) {
    case Level::kO1:
      if (product || node.type == "Relu") return Rule::kLow;
      return effect == LowPrecision::kMovesOnly ? Rule::kFollow : Rule::kFull;
    case Level::kO2:
      return normalizes ? Rule::kFull : Rule::kLow;
    case Level::kO3:
      return Rule::kLow;
    case Level::kAuto:
      if (product) return Rule::kLow;
      return normalizes || effect == LowPrecision::kLosesDigits ? Rule::kFull : Rule::kFollow;
    case Level::kO0:
      break;
  }
  return Rule::kFull;
}

class PrecisionCaster {
 public:
  explicit PrecisionCaster(Compilation& state) : graph_(state.graph), precision_(state.precision) {}

  Result<bool> Run() {
    const NodeId count = graph_.num_nodes();
    for (NodeId id = 0; id < count; ++id) {
      if (!graph_.node(id).dead && graph_.node(id).def != nullptr) TENON_TRY(Convert(id));
      order_.push_back(id);
    }
    // What leaves the graph keeps its dtype.
    for (ValueId& id : graph_.outputs) {
      if (IsLow(id)) {
        TENON_ASSIGN(id, In(DType::kF32, id, ""));
      }
    }
    for (graph::Update& update : graph_.updates) {
      const DType kept = graph_.value(update.state).type.dtype;
      if (TypeOf(update.value) != kept) {
        TENON_ASSIGN(update.value, In(kept, update.value, ""));
      }
    }
    if (graph_.num_nodes() > count) graph_.Permute(order_);
    return changed_;
  }

 private:
  DType TypeOf(ValueId id) const { return graph_.value(id).type.dtype; }
  bool IsLow(ValueId id) const { return id != kNone && TypeOf(id) == precision_.low; }
  bool Converts(ValueId id) const { return IsLow(id) || (id != kNone && TypeOf(id) == DType::kF32); }

  // The inputs that must have one dtype: those of the group of the first one that can be converted.
  std::vector<std::size_t> SharedInputs(const Node& node) const {
    const std::vector<ArgDef>& arguments = node.def->inputs();
    const auto group = [&](std::size_t i) -> const std::string& {
      return arguments[std::min(i, arguments.size() - 1)].group;
    };
    std::vector<std::size_t> shared;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (Converts(node.inputs[i]) && (shared.empty() || group(i) == group(shared.front()))) shared.push_back(i);
    }
    return shared;
  }

  // Does the operator's definition allow the low precision for these inputs?
  bool TakesLow(const Node& node, const std::vector<std::size_t>& inputs) const {
    const std::vector<ArgDef>& arguments = node.def->inputs();
    return std::all_of(inputs.begin(), inputs.end(), [&](std::size_t i) {
      return arguments[std::min(i, arguments.size() - 1)].types.Has(precision_.low);
    });
  }

  // float32 as soon as one operand that was computed is; constants and parameters have no say.
  DType Followed(const Node& node, const std::vector<std::size_t>& shared) const {
    bool low = false;
    for (const std::size_t i : shared) {
      const graph::ValueInfo& value = graph_.value(node.inputs[i]);
      if (value.kind == ValueKind::kConstant || value.kind == ValueKind::kParameter) continue;
      if (value.type.dtype == DType::kF32) return DType::kF32;
      low = true;
    }
    return low ? precision_.low : DType::kF32;
  }

  Status Convert(NodeId id) {
    if (graph_.node(id).type == "Cast") return graph_.Infer(id);
    const std::vector<std::size_t> shared = SharedInputs(graph_.node(id));
    if (!shared.empty()) {
      const Rule rule = TakesLow(graph_.node(id), shared) ? RuleOf(precision_, graph_.node(id)) : Rule::kFull;
      const DType wanted = rule == Rule::kLow    ? precision_.low
                           : rule == Rule::kFull ? DType::kF32
                                                 : Followed(graph_.node(id), shared);
      for (const std::size_t i : shared) {
        TENON_ASSIGN(const ValueId input, In(wanted, graph_.node(id).inputs[i], graph_.node(id).place));
        graph_.node(id).inputs[i] = input;
      }
    }
    return graph_.Infer(id);
  }

  // The value in the wanted dtype: itself, what it was converted from, or one Cast for all its readers.
  Result<ValueId> In(DType wanted, ValueId id, const std::string& place) {
    if (TypeOf(id) == wanted) return id;
    const auto [found, added] = converted_.try_emplace({id, wanted}, kNone);
    if (!added) return found->second;
    changed_ = true;
    const std::string name = fmt::format("{}.{}", graph_.value(id).name, NameOf(wanted));
    if (graph_.value(id).kind == ValueKind::kConstant) {
      found->second = graph_.AddConstant(graph_.UniqueValueName(name), Cast(graph_.value(id).constant, wanted));
      return found->second;
    }
    const ValueId inputs[] = {id};
    TENON_ASSIGN(const NodeId cast,
                 graph_.AddNode("", "Cast", inputs, {{"to", static_cast<std::int64_t>(wanted)}}, 1, name, place));
    order_.push_back(cast);
    found->second = graph_.node(cast).outputs[0];
    return found->second;
  }

  Graph& graph_;
  const Precision& precision_;
  std::vector<NodeId> order_;
  std::map<std::pair<ValueId, DType>, ValueId> converted_;
  bool changed_ = false;
};

}  // namespace

// float32 parameters stay; what operators read is converted by the rules of the level, once per value.
Result<bool> MixedPrecision(Compilation& state) {
  if (state.precision.level == Precision::Level::kO0) return false;
  return PrecisionCaster(state).Run();
}

}  // namespace tenon::passes
