#include "core/train/trained_graph.h"

namespace tenon {

std::vector<TrainedParameter> TrainedOf(const passes::Compilation& state) {
  std::vector<TrainedParameter> trained;
  for (std::size_t i = 0; i < state.trained.size(); ++i) {
    if (state.gradients[i] == graph::kNone) continue;
    const graph::ValueInfo& value = state.graph.value(state.trained[i]);
    trained.push_back({value.name, value.type});
  }
  return trained;
}

void AddGradientInputs(passes::Compilation& state, const std::vector<TrainedParameter>& parameters) {
  for (const TrainedParameter& parameter : parameters) {
    state.trained.push_back(state.graph.AddParameter(parameter.name, parameter.type));
    state.gradients.push_back(state.graph.AddInput("gradient." + parameter.name, parameter.type));
  }
}

void AddSummed(passes::Compilation& state, const std::vector<TrainedParameter>& parameters) {
  for (const TrainedParameter& parameter : parameters) {
    state.trained.push_back(state.graph.AddParameter(parameter.name, parameter.type));
    state.gradients.push_back(state.graph.AddState(std::string(passes::kSumPrefix) + parameter.name, parameter.type));
  }
}

void UseAverages(graph::Graph& graph, const std::vector<graph::ValueId>& parameters, const exec::Variables& variables) {
  for (const graph::ValueId id : parameters) {
    const std::string average = std::string(passes::kAveragePrefix) + graph.value(id).name;
    if (variables.Has(average)) graph.RenameValue(id, average);
  }
}

}  // namespace tenon
