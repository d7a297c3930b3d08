#include "core/passes/pass.h"
#include "core/train/step_runner.h"

namespace tenon {

Status KeepFirstValues(const StepRunnerOptions& options, const Network::Build& build, const graph::Graph& graph,
                       const std::vector<graph::ValueId>& trained, exec::Variables& variables) {
  const RunConfig& config = *options.config;
  for (const auto& initial : build.initial) {
    const std::string& name = initial.first;
    if (variables.Has(name)) continue;
    const bool given = options.first_values != nullptr && options.first_values->count(name) > 0;
    if (given) {
      variables.SetInitial(name, options.first_values->at(name));
    } else {
      TENON_ASSIGN(Tensor value, MakeInitial(initial.second, static_cast<std::uint64_t>(config.seed), name));
      variables.SetInitial(name, std::move(value));
    }
  }
  if (!config.train.ema) return {};
  for (const graph::ValueId id : trained) {
    const std::string& name = graph.value(id).name;
    const std::string average = std::string(passes::kAveragePrefix) + name;
    if (const Tensor* first = variables.InitialOf(name); first != nullptr && !variables.Has(average))
      variables.SetInitial(average, *first);
  }
  return {};
}

}  // namespace tenon
