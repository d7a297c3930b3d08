#include "core/passes/pass.h"

namespace tenon::passes {

// gradients -> sums "accumulated.<parameter>", which another program of the session reads when it updates.
Result<bool> AccumulateGradients(Compilation& state) {
  if (!state.accumulate || state.gradients.empty()) return false;
  Graph& graph = state.graph;
  std::vector<ValueId> inputs = {graph.AddInput(std::string(kWeightInput), {DType::kF32, SymShape{}}),
                                 graph.AddInput(std::string(kStartInput), {DType::kI64, SymShape{}})};
  std::vector<ValueId> sums, gradients;
  for (std::size_t i = 0; i < state.trained.size(); ++i) {
    if (state.gradients[i] == kNone) continue;
    const graph::ValueInfo& parameter = graph.value(state.trained[i]);
    const std::string name = std::string(kSumPrefix) + parameter.name;
    const ValueType type = parameter.type;
    sums.push_back(graph.AddState(name, type));
    gradients.push_back(state.gradients[i]);
  }
  inputs.insert(inputs.end(), sums.begin(), sums.end());
  inputs.insert(inputs.end(), gradients.begin(), gradients.end());
  TENON_ASSIGN(const NodeId node,
               graph.AddNode("tenon", "Accumulate", inputs, {{"count", static_cast<std::int64_t>(sums.size())}},
                             static_cast<int>(sums.size()), "accumulate"));
  for (std::size_t i = 0; i < sums.size(); ++i) graph.updates.push_back({sums[i], graph.node(node).outputs[i]});
  return true;
}

}  // namespace tenon::passes
