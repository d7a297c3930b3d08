#pragma once

#include <set>
#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "core/passes/pass.h"
#include "core/train/run_config.h"

namespace tenon {

// What the optimiser does with each parameter: train.freeze and optimizer.groups against the names of a network.
struct ParameterPlan {
  struct Group {
    std::string match;  // its pattern, or what it holds
    double lr_scale = 1;
    double weight_decay = 0;
    std::vector<std::string> parameters;
  };
  std::vector<Group> groups;  // those that hold something; the last one may be the rest
  std::set<std::string> frozen;

  // Without the frozen ones.
  std::vector<graph::ValueId> Trained(const graph::Graph& graph, const std::vector<graph::ValueId>& parameters) const;
};

// The first group that matches a parameter decides about it. A pattern that matches nothing is an error at its place with
// the nearest name.
Result<ParameterPlan> PlanParameters(const RunConfig& config, const graph::Graph& graph,
                                     const std::vector<graph::ValueId>& parameters);

// The optimiser's rule for a plan, and what happens to the gradients before it.
passes::UpdateRule UpdateRuleOf(const RunConfig& config, const ParameterPlan& plan);
std::optional<passes::ClipRule> ClipRuleOf(const TrainConfig& config);
passes::BucketRule BucketRuleOf(const ParallelConfig& config);

}  // namespace tenon
