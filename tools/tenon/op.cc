#include "tools/tenon/op.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "core/base/text.h"
#include "core/exec/kernel_catalog.h"
#include "core/exec/runtime.h"
#include "core/ops/op_def.h"
#include "core/plugin/plugin_registry.h"
#include "core/train/run_config.h"
#include "tools/cli/cli.h"
#include "tools/tenon/op_info.h"

namespace tenon {
namespace {

struct Row {
  std::string domain, type, signature;
  int since = 0;
  std::vector<std::string> types;
  bool reference = false, gradient = false, gradient_checked = false;
  std::map<std::string, int> kernels;  // plugin id -> how many
};

std::vector<std::string> TypesOf(const OpDef& def) {
  TypeSet all;
  for (const ArgDef& input : def.inputs()) all = all | input.types;
  return Split(all.ToString(), ',');
}

std::vector<Row> BuiltinRows() {
  std::vector<Row> rows;
  for (const OpDef* def : BuiltinOps().All()) {
    Row row;
    row.domain = def->domain();
    row.type = def->type();
    row.since = def->since();
    row.signature = SignatureOf(*def);
    for (const std::string& type : TypesOf(*def)) row.types.emplace_back(Trim(type));
    row.reference = def->reference() != nullptr;
    row.gradient = def->differentiable();
    row.gradient_checked = def->differentiable();  // tests/ops compares every built-in gradient with differences
    rows.push_back(std::move(row));
  }
  return rows;
}

Status AddKernels(PluginRegistry& registry, std::vector<Row>& rows) {
  std::set<std::string> kinds;
  std::vector<PluginHandle> handles;
  for (const Plugin* plugin : registry.plugins()) {
    handles.push_back(exec::HandleOf(*plugin, registry.Priority(plugin->id())));
    for (const std::string& kind : plugin->KernelDeviceKinds()) kinds.insert(kind);
  }
  std::vector<const PluginHandle*> pointers;
  for (const PluginHandle& handle : handles) pointers.push_back(&handle);
  for (const std::string& kind : kinds) {
    TENON_ASSIGN(const exec::KernelCatalog catalog, exec::KernelCatalog::Make(pointers, kind));
    for (const std::string& name : catalog.Operators()) {
      const std::size_t dot = name.rfind('.');
      const std::string domain = dot == std::string::npos ? "" : name.substr(0, dot);
      const std::string type = dot == std::string::npos ? name : name.substr(dot + 1);
      bool known = false;
      for (const exec::KernelEntry& entry : catalog.Find(domain, type)) {
        for (Row& row : rows) {
          if (row.domain != domain || row.type != type) continue;
          ++row.kernels[entry.plugin->id];
          known = true;
        }
        if (known) continue;
        Row row;
        row.domain = domain;
        row.type = type;
        row.since = static_cast<int>(entry.def->min_version);
        row.kernels[entry.plugin->id] = 1;
        rows.push_back(std::move(row));
      }
    }
  }
  return {};
}

void PrintTable(const std::vector<Row>& rows) {
  std::printf("%-44s %5s  %-9s %-8s %-20s %s\n", "operator", "since", "reference", "gradient", "kernels", "signature");
  for (const Row& row : rows) {
    std::string kernels;
    for (const auto& entry : row.kernels)
      kernels += fmt::format("{}{} ({})", kernels.empty() ? "" : ", ", entry.first, entry.second);
    const std::string name = row.domain.empty() ? row.type : row.domain + "::" + row.type;
    std::printf("%-44s %5d  %-9s %-8s %-20s %s\n", name.c_str(), row.since, row.reference ? "yes" : "no",
                row.gradient ? "yes" : "no", kernels.c_str(), row.signature.c_str());
  }
}

Status List(const OpListOptions& options) {
  PluginsConfig plugins;
  if (!options.config.empty()) {
    TENON_ASSIGN(const RunConfig config, LoadRunConfig({options.config, {}, {}}, RunConfigPart::kPluginsOnly));
    plugins = config.plugins;
  }
  PluginRegistry::Options registry_options;
  registry_options.search.plugin_dirs = options.plugin_dirs;
  PluginRegistry registry(std::move(registry_options));
  TENON_TRY(registry.Load(plugins));
  registry.LoadAll();
  std::vector<Row> rows = BuiltinRows();
  TENON_TRY(AddKernels(registry, rows));
  std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
    return std::tie(a.domain, a.type, a.since) < std::tie(b.domain, b.type, b.since);
  });
  if (!options.json) {
    PrintTable(rows);
    return {};
  }
  nlohmann::json out = nlohmann::json::array();
  for (const Row& row : rows) {
    out.push_back({{"domain", row.domain},
                   {"type", row.type},
                   {"since", row.since},
                   {"signature", row.signature},
                   {"types", row.types},
                   {"reference", row.reference},
                   {"gradient", row.gradient},
                   {"gradient_checked", row.gradient_checked},
                   {"kernels", row.kernels}});
  }
  std::printf("%s\n", out.dump(1).c_str());
  return {};
}

}  // namespace

int RunOpList(const OpListOptions& options) { return cli::Report(List(options)); }

}  // namespace tenon
