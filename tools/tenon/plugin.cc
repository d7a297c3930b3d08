#include "tools/tenon/plugin.h"

#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/base/text.h"
#include "core/platform/file_identity.h"
#include "core/plugin/interface_table.h"
#include "core/plugin/plugin_registry.h"
#include "core/train/run_config.h"
#include "tools/cli/cli.h"
#include "tools/tenon/plugin_probe.h"
#include "tools/tenon/plugin_selection.h"

namespace tenon {

namespace {

// One file, loaded alone with its default options.
struct LoadedFile {
  std::unique_ptr<PluginRegistry> registry;
  PluginReport report;
  Status status;
};

LoadedFile FindFile(const std::string& file) {
  PluginsConfig config;
  PluginLoadEntry entry;
  entry.path = AbsolutePath(file, CurrentFolder());
  config.load.push_back(entry);
  LoadedFile result;
  result.registry = std::make_unique<PluginRegistry>(OnlyNamedFiles());
  result.status = result.registry->Find(config);
  const std::vector<PluginReport> reports = result.registry->Reports();
  if (!reports.empty()) result.report = reports.front();
  return result;
}

// Found, and opened once in a process of its own.
LoadedFile ProbeFile(const std::string& file) {
  LoadedFile result = FindFile(file);
  if (result.status.ok() && result.registry->IsSound(0)) ProbePlugin(result.registry.get(), 0, &result.report);
  return result;
}

// Opened here, when that cannot end this process.
LoadedFile LoadFile(LoadedFile probed) {
  if (CrashedWhenProbed(probed.report)) {
    probed.status = Error(Code::kUnavailable, "{}", probed.report.reason);
    return probed;
  }
  if (probed.status.ok()) probed.status = probed.registry->LoadRow(0);
  const std::vector<PluginReport> reports = probed.registry->Reports();
  if (!reports.empty()) probed.report = reports.front();
  return probed;
}

void PrintReports(const std::vector<PluginReport>& reports, bool json) {
  if (json) {
    fmt::print("{}\n", PluginReportsToJson(reports).dump(2));
  } else {
    fmt::print("{}", PluginReportsToText(reports));
  }
}

// The rows of `plugin list`, each opened in a process of its own; nothing when none of them crashes.
std::vector<PluginReport> ReportsOfCrash(const PluginsConfig& config, const PluginRegistry::Options& options) {
  PluginRegistry registry(options);
  if (!registry.Find(config).ok()) return {};
  std::vector<PluginReport> reports = registry.Reports();
  bool crashed = false;
  for (std::size_t row = 0; row < reports.size(); ++row) {
    if (registry.IsSound(row)) ProbePlugin(&registry, row, &reports[row]);
    crashed = crashed || CrashedWhenProbed(reports[row]);
  }
  return crashed ? reports : std::vector<PluginReport>();
}

std::vector<std::string> KindNames(std::uint64_t kinds) {
  std::vector<std::string> names;
  const std::pair<std::uint64_t, const char*> known[] = {
      {TENON_KIND_DEVICE, "device"},     {TENON_KIND_OP, "op"},
      {TENON_KIND_SUBGRAPH, "subgraph"}, {TENON_KIND_COLLECTIVE, "collective"},
      {TENON_KIND_PROFILER, "profiler"}, {TENON_KIND_VENDOR, "vendor"}};
  for (const auto& kind : known) {
    if ((kinds & kind.first) != 0) names.emplace_back(kind.second);
  }
  return names;
}

std::vector<std::string> OperatorNames(const Plugin& plugin) {
  std::vector<std::string> names;
  for (const auto& op : plugin.Operators()) names.push_back(op.first.empty() ? op.second : op.first + "::" + op.second);
  return names;
}

nlohmann::json Details(const Plugin& plugin, const std::vector<const PluginDevice*>& devices) {
  nlohmann::json device_list = nlohmann::json::array();
  for (const PluginDevice* device : devices) {
    device_list.push_back({{"kind", device->kind},
                           {"index", device->kind_index},
                           {"name", device->name},
                           {"unique_id", device->unique_id},
                           {"memory_mb", static_cast<double>(device->memory_bytes) / 1048576.0},
                           {"driver_version", device->driver_version}});
  }
  nlohmann::json option_list = nlohmann::json::array();
  for (const PluginOption& option : plugin.options().schema()) {
    option_list.push_back({{"key", option.key},
                           {"type", option.type},
                           {"default", option.default_value},
                           {"bounds", option.bounds},
                           {"help", option.help}});
  }
  const PluginLibrary& library = plugin.library();
  return {{"vendor", library.vendor()},
          {"licence", library.licence()},
          {"compiler", library.compiler()},
          {"debug_build", library.debug_build()},
          {"kinds", KindNames(library.note().kinds)},
          {"interfaces", library.interface_ids()},
          {"device_info", std::move(device_list)},
          {"operators", OperatorNames(plugin)},
          {"options", std::move(option_list)}};
}

void PrintInfo(const PluginReport& report, const nlohmann::json& details) {
  const auto line = [](const char* name, const std::string& value) {
    if (!value.empty()) fmt::print("  {:<12} {}\n", name, value);
  };
  const auto joined = [](const nlohmann::json& list) { return Join(list.get<std::vector<std::string>>(), ", "); };
  fmt::print("{} {}\n", report.id, report.version);
  line("file", report.path);
  line("build id", report.build_id);
  line("vendor", details.at("vendor").get<std::string>());
  line("licence", details.at("licence").get<std::string>());
  line("compiler",
       details.at("compiler").get<std::string>() + (details.at("debug_build").get<bool>() ? ", debug build" : ""));
  line("plugin ABI",
       fmt::format("built {}{}, effective {}", report.abi_built, report.draft ? " draft" : "", report.abi_effective));
  line("kinds", joined(details.at("kinds")));
  line("interfaces", joined(details.at("interfaces")));
  for (const nlohmann::json& device : details.at("device_info")) {
    line("device", fmt::format("{}:{}  {}", device.at("kind").get<std::string>(), device.at("index").get<int>(),
                               device.at("name").get<std::string>()));
  }
  const std::vector<std::string> operators = details.at("operators").get<std::vector<std::string>>();
  if (!operators.empty())
    fmt::print("  {:<12} {}\n{}", "operators", operators.size(), WrapLines(Join(operators, ", "), 15, 100));
  for (const nlohmann::json& option : details.at("options")) {
    const std::string bounds = option.at("bounds").get<std::string>();
    line("option", fmt::format("{} ({}, default {}{}{}): {}", option.at("key").get<std::string>(),
                               option.at("type").get<std::string>(), option.at("default").get<std::string>(),
                               bounds.empty() ? "" : ", ", bounds, option.at("help").get<std::string>()));
  }
}

}  // namespace

int RunPluginList(const PluginListOptions& options) {
  Result<PluginsConfig> config = ReadPluginsSection(options.config);
  if (!config.ok()) return cli::Report(config.status());
  PluginRegistry::Options registry_options;
  registry_options.search.plugin_dirs = options.plugin_dirs;
  if (const auto crashed = ReportsOfCrash(*config, registry_options); !crashed.empty()) {
    PrintReports(crashed, options.json);
    return 3;
  }
  PluginRegistry registry(std::move(registry_options));
  const Status loaded = registry.Load(*config);
  if (loaded.ok()) registry.LoadAll();
  const std::vector<PluginReport> reports = registry.Reports();
  if (reports.empty() && !options.json) {
    fmt::print("No plugin was found. Searched: {}.\n", registry.searched().DescribeFolders());
  } else {
    PrintReports(reports, options.json);
  }
  std::fflush(stdout);
  return loaded.ok() ? 0 : cli::Report(loaded);
}

int RunPluginInfo(const PluginInfoOptions& options) {
  nlohmann::json array = nlohmann::json::array();
  int exit_code = 0;
  std::vector<LoadedFile> probed;
  for (const std::string& file : options.files) probed.push_back(ProbeFile(file));
  for (LoadedFile& found : probed) {
    const LoadedFile loaded = LoadFile(std::move(found));
    nlohmann::json object = PluginReportsToJson({&loaded.report, 1}).at(0);
    if (!loaded.status.ok()) {
      exit_code = cli::Report(loaded.status);
    } else {
      const nlohmann::json details = Details(*loaded.registry->plugins().front(), loaded.registry->devices());
      if (!options.json) PrintInfo(loaded.report, details);
      object.update(details);
    }
    array.push_back(std::move(object));
  }
  if (options.json) fmt::print("{}\n", array.dump(2));
  return exit_code;
}

int RunPluginCheck(const PluginCheckOptions& options) {
  std::vector<PluginReport> reports;
  int exit_code = 0;
  for (const std::string& file : options.files) {
    const LoadedFile probed = ProbeFile(file);
    reports.push_back(probed.report);
    if (!probed.status.ok() || probed.report.state != PluginState::kLoaded) exit_code = 3;
  }
  PrintReports(reports, options.json);
  return exit_code;
}

}  // namespace tenon
