#include "tools/tenon/plugin_probe.h"

#include <fmt/format.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "core/platform/file_identity.h"
#include "core/platform/process.h"
#include "core/plugin/plugin_message.h"

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

}  // namespace

void ProbePlugin(PluginRegistry* registry, std::size_t row, PluginReport* report) {
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

bool CrashedWhenProbed(const PluginReport& report) { return report.code == PluginCode(PluginMessage::kCrashed); }

}  // namespace tenon
