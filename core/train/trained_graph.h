#pragma once

#include <string>
#include <vector>

#include "core/exec/variables.h"
#include "core/passes/pass.h"

namespace tenon {

// A parameter that gets a gradient.
struct TrainedParameter {
  std::string name;
  ValueType type;
};

// Those of a compilation in which the gradients are known, in order.
std::vector<TrainedParameter> TrainedOf(const passes::Compilation& state);

// Graphs of updates alone: the parameters, and as gradients inputs "gradient.<parameter>" or the sums over a step.
void AddGradientInputs(passes::Compilation& state, const std::vector<TrainedParameter>& parameters);
void AddSummed(passes::Compilation& state, const std::vector<TrainedParameter>& parameters);

// Lets a graph read the averages of parameters where the variables have them.
void UseAverages(graph::Graph& graph, const std::vector<graph::ValueId>& parameters, const exec::Variables& variables);

}  // namespace tenon
