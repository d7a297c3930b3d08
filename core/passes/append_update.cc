#include "core/passes/pass.h"

namespace tenon::passes {

// gradients -> one optimiser node; the parameters and states are updated with its results.
Result<bool> AppendUpdate(Compilation& state) {
  if (!state.training() || !state.update) return false;
  Graph& graph = state.graph;
  const UpdateRule& rule = *state.update;
  std::vector<ValueId> parameters, gradients;
  for (std::size_t i = 0; i < state.trained.size(); ++i) {
    if (state.gradients[i] == kNone) {
      state.notes.push_back(fmt::format("parameter '{}' does not influence the loss and is not updated",
                                        graph.value(state.trained[i]).name));
      continue;
    }
    parameters.push_back(state.trained[i]);
    gradients.push_back(state.gradients[i]);
  }
  std::vector<ValueId> inputs;
  inputs.push_back(graph.AddInput(std::string(kLearningRateInput), {DType::kF32, SymShape{}}));
  if (rule.counts_steps) inputs.push_back(graph.AddInput(std::string(kStepInput), {DType::kI64, SymShape{}}));
  inputs.insert(inputs.end(), parameters.begin(), parameters.end());
  std::vector<ValueId> updated = parameters;
  for (const std::string& prefix : rule.state_prefixes) {
    for (const ValueId parameter : parameters) {
      const std::string name = prefix + graph.value(parameter).name;
      updated.push_back(graph.AddState(name, graph.value(parameter).type));
      inputs.push_back(updated.back());
    }
  }
  inputs.insert(inputs.end(), gradients.begin(), gradients.end());
  Attributes attrs = rule.attrs;
  attrs.Set("count", static_cast<std::int64_t>(parameters.size()));
  TENON_ASSIGN(const NodeId node, graph.AddNode("tenon", rule.type, inputs, std::move(attrs),
                                                static_cast<int>(updated.size()), "optimizer"));
  for (std::size_t i = 0; i < updated.size(); ++i) graph.updates.push_back({updated[i], graph.node(node).outputs[i]});
  return true;
}

}  // namespace tenon::passes
