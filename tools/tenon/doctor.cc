#include "tools/tenon/doctor.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "core/platform/file_identity.h"
#include "core/platform/process.h"
#include "core/plugin/plugin_message.h"
#include "core/plugin/plugin_registry.h"
#include "tools/cli/cli.h"
#include "tools/tenon/plugin_output.h"

namespace tenon {

namespace {

constexpr int kTimeoutMs = 60000;

void WriteAll(int descriptor, const std::string& text) {
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t wrote = ::write(descriptor, text.data() + done, text.size() - done);
    if (wrote <= 0) return;
    done += static_cast<std::size_t>(wrote);
  }
}

PluginState StateFromName(const std::string& name) {
  for (const PluginState state : {PluginState::kLoaded, PluginState::kSkipped, PluginState::kRefused}) {
    if (name == PluginStateName(state)) return state;
  }
  return PluginState::kRefused;
}

// The row that a child sent; false when it sent none.
bool ReadRow(const std::string& text, PluginReport* report) {
  const nlohmann::json row = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!row.is_object()) return false;
  report->state = StateFromName(row.value("state", ""));
  report->code = row.value("code", "");
  report->reason = row.value("reason", "");
  report->devices = row.value("devices", std::vector<std::string>());
  report->ops = row.value("ops", std::int64_t{0});
  const auto abi = row.find("abi");
  if (abi != row.end()) report->abi_effective = abi->value("effective", "");
  return true;
}

std::string EndOf(const ChildResult& child) {
  if (child.timed_out) return fmt::format("did not return within {} seconds", kTimeoutMs / 1000);
  if (child.signal != 0) return fmt::format("ended the process with {}", SignalName(child.signal));
  return fmt::format("ended the process with exit code {}", child.exit_code);
}

// Opens one row in a process of its own.
void Examine(PluginRegistry* registry, std::size_t row, PluginReport* report) {
  const Result<ChildResult> child = RunInChild(
      [registry, row](int descriptor) {
        static_cast<void>(registry->LoadRow(row));
        const std::vector<PluginReport> reports = registry->Reports();
        registry->Shutdown();
        WriteAll(descriptor, PluginReportsToJson({&reports[row], 1}).at(0).dump());
        return 0;
      },
      kTimeoutMs);
  if (!child.ok()) {
    report->reason = child.status().message();
    report->state = PluginState::kRefused;
    return;
  }
  if (child->exited && child->exit_code == 0 && ReadRow(child->output, report)) return;
  report->state = PluginState::kRefused;
  report->code = PluginCode(PluginMessage::kCrashed);
  report->reason =
      PluginError(PluginMessage::kCrashed, FileName(report->path),
                  "{} when it was opened and started. Report it to the vendor of {}.", EndOf(*child), report->id)
          .message();
}

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
    if (registry.IsSound(row)) Examine(&registry, row, &reports[row]);
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
