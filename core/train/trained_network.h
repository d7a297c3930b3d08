#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/passes/pass.h"
#include "core/train/parameter_plan.h"
#include "core/train/step_runner.h"

namespace tenon {

inline constexpr std::string_view kSamplesInput = "input";
inline constexpr std::string_view kLabelsInput = "labels";
inline constexpr std::string_view kGradientPrefix = "gradient.";

// A network in training, as both engines see it: its graph for a batch, its variables, and what is done with its gradients.
class TrainedNetwork {
 public:
  TrainedNetwork(const Network& network, const StepRunnerOptions& options, Device& device)
      : network_(network), options_(options), config_(*options.config), variables_(device) {}

  struct Forward {
    graph::ValueId loss = graph::kNone, output = graph::kNone;
    std::vector<graph::ValueId> trained;  // the parameters that are not frozen
    passes::Precision precision;
  };
  graph::Graph NewGraph() const { return network_.NewGraph(); }
  // Adds the network and its loss to an empty graph and gives variables that are new their first values. A graph that does
  // not train reads the averages of parameters where there are some.
  Result<Forward> AddForward(graph::Graph& graph, const BatchShape& shape, bool training);
  // What the optimiser does with each parameter, since the first AddForward.
  const ParameterPlan& plan() const { return plan_; }

  // Remembers the parameters that get a gradient, from a compilation in which the gradients are known; they are the same
  // for each shape of a batch.
  void NoteTrained(const passes::Compilation& state);
  // Graphs of updates alone: those parameters, and as their gradients inputs "gradient.<parameter>" or the sums of a step.
  void AddGradientInputs(passes::Compilation& state) const;
  void AddSums(passes::Compilation& state) const;
  // An input for the scale of the loss, in a run that has one.
  void AddLossScale(passes::Compilation& state) const;
  // What follows the gradients: sums over the ranks, clipping, the optimiser, averages.
  void AddUpdate(passes::Compilation& state) const;
  // Are the gradients of this batch used as they come, not added to a sum first? With several ranks and accumulation they
  // never are: ranks may have different numbers of batches, and all add theirs up in the same way.
  bool IsWholeStep(const StepPart& part) const;
  // Does the loss have its weight before gradients are taken, and not only the gradients when they are added up? It must where
  // some are summed over the ranks on the way, as those of batch norms are.
  bool WeighsLoss() const;
  // The sums of a step in which this rank has nothing to add.
  Status ClearSums();

  // Notes a parameter or state by name. Sums of gradients live within one step and are nobody's to save.
  void NoteName(const std::string& name);
  // Of parameters and running statistics, in the order of the layers; of optimiser states and averages.
  const std::vector<std::string>& parameter_names() const { return parameter_names_; }
  const std::vector<std::string>& state_names() const { return state_names_; }
  exec::Variables& variables() { return variables_; }
  const exec::Variables& variables() const { return variables_; }

 private:
  struct Trained {
    std::string name;
    ValueType type;
  };
  Status GiveFirstValues(const Network::Build& build, const graph::Graph& graph,
                         const std::vector<graph::ValueId>& trained);

  const Network& network_;
  const StepRunnerOptions options_;
  const RunConfig& config_;
  exec::Variables variables_;
  ParameterPlan plan_;
  std::vector<Trained> trained_;
  std::vector<std::string> parameter_names_, state_names_;
  std::set<std::string> of_network_;  // its parameters and running statistics
};

}  // namespace tenon
