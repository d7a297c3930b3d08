#include "core/train/parameter_plan.h"

#include "core/train/name_pattern.h"
#include "core/train/optimizer.h"

namespace tenon {
namespace {

std::vector<std::string> NamesOf(const graph::Graph& graph, const std::vector<graph::ValueId>& parameters) {
  std::vector<std::string> names;
  for (const graph::ValueId id : parameters) names.push_back(graph.value(id).name);
  return names;
}

Status PlanFrozen(const RunConfig& config, const std::vector<std::string>& names, ParameterPlan* plan) {
  for (std::size_t i = 0; i < config.train.freeze.size(); ++i) {
    auto picked = PickNames(config.train.freeze[i], names, "parameter");
    if (!picked.ok())
      return std::move(picked).status().At(PlaceOf(config.source, fmt::format("train.freeze.{}", i)).ToString());
    for (const std::size_t at : *picked) plan->frozen.insert(names[at]);
  }
  if (plan->frozen.size() < names.size() || names.empty()) return {};
  return InvalidArgument("All {} parameters of the network are frozen; there is nothing to train.", names.size())
      .At(PlaceOf(config.source, "train.freeze").ToString());
}

}  // namespace

std::vector<graph::ValueId> ParameterPlan::Trained(const graph::Graph& graph,
                                                   const std::vector<graph::ValueId>& parameters) const {
  std::vector<graph::ValueId> trained;
  for (const graph::ValueId id : parameters) {
    if (frozen.count(graph.value(id).name) == 0) trained.push_back(id);
  }
  return trained;
}

Result<ParameterPlan> PlanParameters(const RunConfig& config, const graph::Graph& graph,
                                     const std::vector<graph::ValueId>& parameters) {
  const std::vector<std::string> names = NamesOf(graph, parameters);
  const double decay = std::visit([](const auto& kind) { return kind.weight_decay; }, config.optimizer);
  const bool decay_all = std::visit([](const auto& kind) { return kind.decay_bias_and_norm; }, config.optimizer);
  ParameterPlan plan;
  TENON_TRY(PlanFrozen(config, names, &plan));
  std::set<std::string> taken = plan.frozen;
  const auto add = [&](ParameterPlan::Group group) {
    if (!group.parameters.empty()) plan.groups.push_back(std::move(group));
  };
  const auto& groups = std::visit(
      [](const auto& kind) -> const std::vector<ParameterGroupConfig>& { return kind.groups; }, config.optimizer);
  for (std::size_t i = 0; i < groups.size(); ++i) {
    auto picked = PickNames(groups[i].match, names, "parameter");
    if (!picked.ok())
      return std::move(picked).status().At(
          PlaceOf(config.source, fmt::format("optimizer.groups.{}.match", i)).ToString());
    ParameterPlan::Group group{groups[i].match, groups[i].lr_scale, groups[i].weight_decay.value_or(decay), {}};
    for (const std::size_t at : *picked) {
      if (taken.insert(names[at]).second) group.parameters.push_back(names[at]);
    }
    add(std::move(group));
  }
  ParameterPlan::Group vectors{"bias and norm", 1, 0, {}}, rest{"*", 1, decay, {}};
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (taken.count(names[i]) > 0) continue;
    const bool vector = graph.value(parameters[i]).type.shape.rank() <= 1;
    (vector && !decay_all ? vectors : rest).parameters.push_back(names[i]);
  }
  add(std::move(vectors));
  add(std::move(rest));
  return plan;
}

passes::UpdateRule UpdateRuleOf(const RunConfig& config, const ParameterPlan& plan) {
  passes::UpdateRule rule = UpdateRuleOf(config.optimizer);
  for (const ParameterPlan::Group& group : plan.groups) {
    for (const std::string& name : group.parameters) rule.group_of[name] = rule.groups.size();
    Attributes attrs = rule.attrs;
    attrs.Set("weight_decay", group.weight_decay);
    rule.groups.push_back({group.lr_scale, std::move(attrs)});
  }
  rule.average_decay = config.train.ema;
  return rule;
}

passes::BucketRule BucketRuleOf(const ParallelConfig& config) {
  const auto bytes = [](double mb) { return static_cast<std::int64_t>(mb * (1 << 20)); };
  return {bytes(config.first_bucket_mb), bytes(config.bucket_mb)};
}

std::optional<passes::ClipRule> ClipRuleOf(const TrainConfig& config) {
  if (!config.clip_norm && !config.clip_value) return std::nullopt;
  return passes::ClipRule{config.clip_norm, config.clip_value};
}

}  // namespace tenon
