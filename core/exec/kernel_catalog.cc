#include "core/exec/kernel_catalog.h"

#include <algorithm>

#include "core/plugin/abi_trace.h"
#include "core/plugin/error_sink.h"
#include "core/plugin/interface_table.h"
#include "core/plugin/plugin_records.h"

namespace tenon::exec {

Result<KernelCatalog> KernelCatalog::Make(const std::vector<const PluginHandle*>& plugins,
                                          std::string_view device_kind) {
  KernelCatalog catalog;
  for (const PluginHandle* plugin : plugins) {
    if (plugin->op == nullptr) continue;
    tenon_error error;
    const tenon_kernel_def* first = nullptr;
    std::uint64_t count = 0, stride = 0;
    TENON_TRY_WHILE(ToStatus(CallAbi("tenon.op", "list_kernels", plugin->op->list_kernels, plugin->instance, &first,
                                     &count, &stride, &error),
                             error, plugin->id),
                    "listing the kernels of {}", plugin->file_name);
    if (first == nullptr && count != 0)
      return Error(Code::kInternal, "Plugin {} lists {} kernels at a NULL address.", plugin->id, count);
    for (std::uint64_t i = 0; i < count; ++i) {
      const tenon_kernel_def def = RecordAt(first, stride, i);
      if (View(def.device_kind) != device_kind) continue;
      TENON_ASSIGN(const auto vtable,
                   PluginInterface<tenon_kernel_vtable>::Negotiate(def.vtable, plugin->minor, plugin->file_name));
      KernelEntry entry{plugin, RecordAddress(first, stride, i), def, *vtable,
                        fmt::format("{}/{}", plugin->file_name, View(def.name))};
      catalog.kernels_[fmt::format("{}.{}", View(def.domain), View(def.op_type))].push_back(std::move(entry));
    }
  }
  for (auto& entry : catalog.kernels_) {
    std::stable_sort(entry.second.begin(), entry.second.end(), [](const KernelEntry& a, const KernelEntry& b) {
      if (a.plugin->priority != b.plugin->priority) return a.plugin->priority > b.plugin->priority;
      return a.facts.priority > b.facts.priority;
    });
    for (std::size_t i = 1; i < entry.second.size(); ++i) {
      const KernelEntry &a = entry.second[i - 1], &b = entry.second[i];
      if (a.plugin != b.plugin && a.plugin->priority == b.plugin->priority && a.facts.priority == b.facts.priority)
        return Error(
            Code::kFailedPrecondition,
            "Plugins {} ({}) and {} ({}) both offer operator {} for device kind '{}' with equal priority. Write "
            "plugins: {{priority: {{{}: 1}}}} for the one to prefer.",
            a.plugin->id, a.plugin->file_name, b.plugin->id, b.plugin->file_name, entry.first, device_kind,
            a.plugin->id);
    }
  }
  return catalog;
}

const std::vector<KernelEntry>& KernelCatalog::Find(std::string_view domain, std::string_view type) const {
  static const std::vector<KernelEntry> kNone;
  const auto found = kernels_.find(fmt::format("{}.{}", domain, type));
  return found == kernels_.end() ? kNone : found->second;
}

std::vector<std::string> KernelCatalog::Operators() const {
  std::vector<std::string> names;
  for (const auto& entry : kernels_) names.push_back(entry.first.front() == '.' ? entry.first.substr(1) : entry.first);
  return names;
}

bool KernelCatalog::HasMathHigh() const {
  for (const auto& entry : kernels_)
    for (const KernelEntry& kernel : entry.second)
      if ((kernel.def->traits & TENON_TRAIT_MATH_HIGH) != 0) return true;
  return false;
}

namespace {

std::vector<graph::SavedValue> SavedValues(const tenon_fused_def& def) {
  std::vector<graph::SavedValue> saved;
  for (std::uint32_t i = 0; i < def.saved_count; ++i) {
    const tenon_saved_def record = RecordAt(def.saved, def.saved_stride, i);
    graph::SavedValue value;
    value.dtype = static_cast<DType>(record.dtype);
    value.like = View(record.like);
    value.extra_dims.assign(record.extra_dims, record.extra_dims + record.extra_dim_count);
    saved.push_back(std::move(value));
  }
  return saved;
}

graph::FusedOp GradientOf(const tenon_paired_gradient& paired, std::size_t returned) {
  using Kind = graph::FusedOp::Source::Kind;
  graph::FusedOp fused;
  fused.gradient_type = View(paired.op_type);
  fused.gradient_version = static_cast<int>(paired.version);
  for (std::uint32_t i = 0; i < paired.source_count; ++i) {
    const tenon_gradient_source& source = paired.sources[i];
    const int index = static_cast<int>(source.index);
    switch (source.kind) {
      case TENON_SOURCE_INPUT:
        fused.gradient_inputs.push_back({Kind::kInput, index});
        break;
      case TENON_SOURCE_OUTPUT:
        fused.gradient_inputs.push_back({Kind::kOutput, index});
        break;
      case TENON_SOURCE_SAVED:
        fused.gradient_inputs.push_back({Kind::kOutput, index + static_cast<int>(returned)});
        break;
      default:
        fused.gradient_inputs.push_back({Kind::kOutputGrad, index});
        break;
    }
  }
  for (std::uint32_t i = 0; i < paired.grad_input_count; ++i)
    fused.gradient_outputs.push_back(static_cast<int>(paired.grad_inputs[i]));
  return fused;
}

bool AskPlugin(const PluginHandle& plugin, const tenon_fused_def* def, const tenon_fused_def& facts,
               const Device& device, const graph::Graph& graph, const graph::PatternMatch& match,
               const Attributes& attrs, bool training, std::string* why) {
  if (facts.match == nullptr) return true;
  std::vector<ValueType> types;
  std::vector<bool> constant;
  for (const auto& entry : match.values) {
    types.push_back(entry.second == graph::kNone ? ValueType{} : graph.value(entry.second).type);
    constant.push_back(false);
  }
  const AbiValues descriptions(types, constant, {});
  const AbiAttributes attributes(attrs);
  std::vector<tenon_match_value> values;
  for (std::size_t i = 0; i < types.size(); ++i) {
    tenon_match_value value = TENON_INIT(tenon_match_value);
    value.name = ToStr(match.values[i].first);
    value.desc = descriptions.data() + i;
    values.push_back(value);
  }
  tenon_match record = TENON_INIT(tenon_match);
  record.math_flags = TENON_MATH_DETERMINISTIC;
  if (training) record.math_flags |= TENON_MATH_TRAINING;
  record.values = values.data();
  record.value_count = static_cast<std::uint32_t>(values.size());
  record.value_stride = sizeof(tenon_match_value);
  record.attributes = attributes.data();
  record.attribute_count = attributes.size();
  record.attribute_stride = sizeof(tenon_attribute);
  record.device_kind = ToStr(device.kind());
  record.device = plugin.instance == device.plugin().instance ? device.handle() : nullptr;
  ReasonCatcher reason;
  std::uint32_t accept = 0;
  const std::int32_t code =
      CallAbi("tenon.subgraph", "match", facts.match, plugin.instance, def, &record, &accept, reason.sink());
  *why = code == TENON_OK ? reason.text() : fmt::format("the plugin's predicate failed with code {}", code);
  return code == TENON_OK && accept != 0;
}

Result<graph::FusionRule> RuleOf(const PluginHandle& plugin, const tenon_fused_def* def, const tenon_fused_def& facts,
                                 const Device& device) {
  graph::FusionRule rule;
  rule.name = View(facts.name);
  TENON_ASSIGN(rule.pattern,
               graph::ParsePattern(View(facts.pattern), fmt::format("{} pattern {}", plugin.file_name, rule.name)));
  rule.after_autodiff = facts.stage == TENON_FUSED_AFTER_AUTODIFF;
  rule.priority = facts.priority;
  rule.domain = View(facts.domain);
  rule.type = View(facts.op_type);
  rule.version = static_cast<int>(facts.version);
  rule.saved = SavedValues(facts);
  rule.has_gradient = facts.gradient != nullptr;
  if (rule.has_gradient) rule.node = GradientOf(*facts.gradient, rule.pattern.returns.size());
  rule.node.version = rule.version;
  for (std::uint32_t i = 0; i < facts.alias_count; ++i) {
    const tenon_alias_pair& pair = facts.aliases[i];
    rule.node.in_place.push_back(
        {static_cast<int>(pair.output), static_cast<int>(pair.input), pair.flags == TENON_ALIAS_MUST});
  }
  const PluginHandle* owner = &plugin;
  const Device* on = &device;
  rule.accept = [owner, def, facts, on](const graph::Graph& graph, const graph::PatternMatch& match,
                                        const Attributes& attrs, bool training, std::string* why) {
    return AskPlugin(*owner, def, facts, *on, graph, match, attrs, training, why);
  };
  return rule;
}

}  // namespace

Result<std::vector<graph::FusionRule>> LoadFusions(const std::vector<const PluginHandle*>& plugins,
                                                   const Device& device, const KernelCatalog& catalog) {
  std::vector<graph::FusionRule> rules;
  for (const PluginHandle* plugin : plugins) {
    if (plugin->subgraph == nullptr || plugin->subgraph->list_fused == nullptr) continue;
    tenon_error error;
    const tenon_fused_def* first = nullptr;
    std::uint64_t count = 0, stride = 0;
    TENON_TRY_WHILE(ToStatus(CallAbi("tenon.subgraph", "list_fused", plugin->subgraph->list_fused, plugin->instance,
                                     &first, &count, &stride, &error),
                             error, plugin->id),
                    "listing the fused operators of {}", plugin->file_name);
    for (std::uint64_t i = 0; i < count; ++i) {
      const tenon_fused_def facts = RecordAt(first, stride, i);
      if (View(facts.device_kind) != device.kind()) continue;
      if (catalog.Find(View(facts.domain), View(facts.op_type)).empty()) continue;
      TENON_ASSIGN(graph::FusionRule rule, RuleOf(*plugin, RecordAddress(first, stride, i), facts, device));
      rules.push_back(std::move(rule));
    }
  }
  std::stable_sort(rules.begin(), rules.end(), [](const graph::FusionRule& a, const graph::FusionRule& b) {
    if (a.priority != b.priority) return a.priority > b.priority;
    return a.pattern.operators.size() > b.pattern.operators.size();
  });
  return rules;
}

}  // namespace tenon::exec
