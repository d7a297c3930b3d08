#include "core/passes/pass.h"

namespace tenon::passes {
namespace {

// Appends the optimiser nodes: one for each group of parameters that has something to update.
class Updater {
 public:
  explicit Updater(Compilation& state) : state_(state), graph_(state.graph), rule_(*state.update) {}

  Status Run() {
    rate_ = graph_.AddInput(std::string(kLearningRateInput), {DType::kF32, SymShape{}});
    if (rule_.counts_steps) step_ = graph_.AddInput(std::string(kStepInput), {DType::kI64, SymShape{}});
    for (std::size_t group = 0; group <= rule_.groups.size(); ++group) {
      const bool rest = group == rule_.groups.size();
      TENON_TRY(Update(group, rest ? UpdateRule::Group{1, rule_.attrs} : rule_.groups[group]));
    }
    return rule_.average_decay ? Average(*rule_.average_decay) : Status();
  }

 private:
  std::size_t GroupOf(ValueId parameter) const {
    const auto found = rule_.group_of.find(graph_.value(parameter).name);
    return found == rule_.group_of.end() ? rule_.groups.size() : found->second;
  }

  Result<ValueId> Rate(double scale) {
    if (scale == 1) return rate_;
    const ValueId factor = graph_.AddConstant("lr_scale", Tensor::Scalar(static_cast<float>(scale)));
    const ValueId inputs[] = {rate_, factor};
    TENON_ASSIGN(const NodeId node, graph_.AddNode("", "Mul", inputs, {}, 1, "group_learning_rate"));
    return graph_.node(node).outputs[0];
  }

  Status Update(std::size_t group, const UpdateRule::Group& how) {
    std::vector<ValueId> parameters, gradients;
    for (std::size_t i = 0; i < state_.trained.size(); ++i) {
      if (state_.gradients[i] == kNone || GroupOf(state_.trained[i]) != group) continue;
      parameters.push_back(state_.trained[i]);
      gradients.push_back(state_.gradients[i]);
    }
    if (parameters.empty()) return {};
    TENON_ASSIGN(const ValueId rate, Rate(how.lr_scale));
    std::vector<ValueId> inputs = {rate};
    if (rule_.counts_steps) inputs.push_back(step_);
    inputs.insert(inputs.end(), parameters.begin(), parameters.end());
    std::vector<ValueId> updated = parameters;
    for (const std::string& prefix : rule_.state_prefixes) {
      for (const ValueId parameter : parameters) {
        const std::string name = prefix + graph_.value(parameter).name;
        const ValueType type = graph_.value(parameter).type;
        updated.push_back(graph_.AddState(name, type));
        inputs.push_back(updated.back());
      }
    }
    inputs.insert(inputs.end(), gradients.begin(), gradients.end());
    Attributes attrs = how.attrs;
    attrs.Set("count", static_cast<std::int64_t>(parameters.size()));
    TENON_ASSIGN(const NodeId node, graph_.AddNode("tenon", rule_.type, inputs, std::move(attrs),
                                                   static_cast<int>(updated.size()), "optimizer"));
    for (std::size_t i = 0; i < updated.size(); ++i)
      graph_.updates.push_back({updated[i], graph_.node(node).outputs[i]});
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      before_.push_back(parameters[i]);
      after_.push_back(graph_.node(node).outputs[i]);
    }
    return {};
  }

  Status Average(double decay) {
    std::vector<ValueId> averages;
    for (const ValueId parameter : before_) {
      const std::string name = std::string(kAveragePrefix) + graph_.value(parameter).name;
      const ValueType type = graph_.value(parameter).type;
      averages.push_back(graph_.AddState(name, type));
    }
    std::vector<ValueId> inputs = averages;
    inputs.insert(inputs.end(), after_.begin(), after_.end());
    const auto count = static_cast<std::int64_t>(averages.size());
    TENON_ASSIGN(const NodeId node,
                 graph_.AddNode("tenon", "MovingAverage", inputs, {{"decay", decay}, {"count", count}},
                                static_cast<int>(count), "average"));
    for (std::size_t i = 0; i < averages.size(); ++i)
      graph_.updates.push_back({averages[i], graph_.node(node).outputs[i]});
    return {};
  }

  Compilation& state_;
  Graph& graph_;
  const UpdateRule& rule_;
  ValueId rate_ = kNone, step_ = kNone;
  std::vector<ValueId> before_, after_;  // parameters and their new values
};

}  // namespace

// gradients -> optimiser nodes; the parameters and states are updated with their results.
Result<bool> AppendUpdate(Compilation& state) {
  if (!state.update || state.gradients.empty()) return false;
  for (std::size_t i = 0; i < state.trained.size(); ++i) {
    if (state.gradients[i] == kNone)
      state.notes.push_back(fmt::format("parameter '{}' does not influence the loss and is not updated",
                                        state.graph.value(state.trained[i]).name));
  }
  TENON_TRY(Updater(state).Run());
  return true;
}

}  // namespace tenon::passes
