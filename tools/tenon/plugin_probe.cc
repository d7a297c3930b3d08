#include "tools/tenon/plugin_probe.h"

#include <nlohmann/json.hpp>

#include "core/platform/file_identity.h"
#include "core/plugin/plugin_message.h"
#include "tools/tenon/plugin_child.h"

namespace tenon {
namespace {

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

}  // namespace

void ProbePlugin(PluginRegistry* registry, std::size_t row, PluginReport* report) {
  const Result<PluginAnswer> answer = AskInChild([registry, row] {
    static_cast<void>(registry->LoadRow(row));
    const std::vector<PluginReport> reports = registry->Reports();
    registry->Shutdown();
    return PluginReportsToJson({&reports[row], 1}).at(0).dump();
  });
  if (!answer.ok()) {
    report->reason = answer.status().message();
    report->state = PluginState::kRefused;
    return;
  }
  if (ReadRow(answer->text, report)) return;
  report->state = PluginState::kRefused;
  report->code = PluginCode(PluginMessage::kCrashed);
  report->reason =
      PluginError(PluginMessage::kCrashed, FileName(report->path),
                  "{} when it was opened and started. Report it to the vendor of {}.", answer->failure, report->id)
          .message();
}

bool CrashedWhenProbed(const PluginReport& report) { return report.code == PluginCode(PluginMessage::kCrashed); }

}  // namespace tenon
