#include "core/train/optimizer.h"

namespace tenon {
namespace {

passes::UpdateRule RuleOf(const SgdConfig& sgd) {
  passes::UpdateRule rule;
  rule.type = "SGD";
  rule.attrs = {
      {"momentum", sgd.momentum}, {"weight_decay", sgd.weight_decay}, {"nesterov", std::int64_t{sgd.nesterov ? 1 : 0}}};
  if (sgd.momentum != 0) rule.state_prefixes = {"moments."};
  return rule;
}

template <class T>
passes::UpdateRule AdamRule(const T& adam, std::string type,
                            std::vector<std::string> states = {"moment1.", "moment2."}) {
  passes::UpdateRule rule;
  rule.type = std::move(type);
  rule.attrs = {
      {"beta1", adam.betas[0]}, {"beta2", adam.betas[1]}, {"epsilon", adam.eps}, {"weight_decay", adam.weight_decay}};
  rule.counts_steps = true;
  rule.state_prefixes = std::move(states);
  return rule;
}
passes::UpdateRule RuleOf(const AdamConfig& adam) { return AdamRule(adam, "Adam"); }
passes::UpdateRule RuleOf(const AdamWConfig& adam) { return AdamRule(adam, "AdamW"); }
passes::UpdateRule RuleOf(const LambConfig& lamb) { return AdamRule(lamb, "Lamb", {"lamb_m.", "lamb_v."}); }

}  // namespace

passes::UpdateRule UpdateRuleOf(const OptimizerConfig& config) {
  return std::visit([](const auto& kind) { return RuleOf(kind); }, config);
}

}  // namespace tenon
