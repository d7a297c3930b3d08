#include "tools/tenon/doctor.h"

#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "core/base/text.h"
#include "core/plugin/plugin_message.h"
#include "core/plugin/plugin_registry.h"
#include "tools/cli/cli.h"
#include "tools/tenon/plugin_probe.h"
#include "tools/tenon/plugin_selection.h"

namespace tenon {

namespace {

std::string FixFor(const PluginReport& report) {
  if (report.state == PluginState::kLoaded) return "";
  for (const PluginMessageInfo& info : PluginMessages()) {
    if (PluginCode(info.message) == report.code) return info.remedy;
  }
  return "";
}

}  // namespace

int RunDoctorPlugins(const DoctorPluginsOptions& options) {
  Result<PluginsConfig> config = ReadPluginsSection(options.config);
  if (!config.ok()) return cli::Report(config.status());
  PluginRegistry::Options registry_options;
  registry_options.search.plugin_dirs = options.plugin_dirs;
  PluginRegistry registry(std::move(registry_options));
  const Status found = registry.Find(*config);
  if (!found.ok()) return cli::Report(found);
  std::vector<PluginReport> reports = registry.Reports();
  for (std::size_t row = 0; row < reports.size(); ++row) {
    if (registry.IsSound(row)) ProbePlugin(&registry, row, &reports[row]);
  }
  bool refused = false;
  nlohmann::json array = PluginReportsToJson(reports);
  for (std::size_t row = 0; row < reports.size(); ++row) {
    array[row]["fix"] = FixFor(reports[row]);
    refused = refused || reports[row].state == PluginState::kRefused;
  }
  if (options.json) {
    fmt::print("{}\n", array.dump(2));
    return refused ? 3 : 0;
  }
  fmt::print("Searched: {}.\n", registry.searched().DescribeFolders());
  for (const PluginReport& report : reports) {
    fmt::print("\n{}  {}{}\n", report.path, PluginStateName(report.state),
               report.id.empty() ? "" : fmt::format("  {} {}", report.id, report.version));
    if (!report.reason.empty()) fmt::print("{}", WrapLines(report.reason, 4, 100));
    const std::string fix = FixFor(report);
    if (!fix.empty()) fmt::print("{}", WrapLines("Fix: " + fix, 4, 100));
  }
  return refused ? 3 : 0;
}

}  // namespace tenon
