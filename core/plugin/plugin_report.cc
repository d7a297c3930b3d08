#include "core/plugin/plugin_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "core/base/text.h"

namespace tenon {

namespace {

constexpr std::size_t kColumns = 100;

// "…" is avoided: terminals without UTF-8 exist.
std::string Cut(const std::string& text, std::size_t width) {
  if (text.size() <= width) return text;
  return width <= 3 ? text.substr(0, width) : text.substr(0, width - 3) + "...";
}

// Built and effective: "1.2/1.0 draft".
std::string Abi(const PluginReport& report) {
  if (report.abi_built.empty()) return "-";
  return report.abi_built + (report.abi_effective.empty() ? "" : "/" + report.abi_effective) +
         (report.draft ? " draft" : "");
}

}  // namespace

const char* PluginStateName(PluginState state) {
  switch (state) {
    case PluginState::kLoaded:
      return "loaded";
    case PluginState::kSkipped:
      return "skipped";
    case PluginState::kRefused:
      return "refused";
  }
  return "";
}

nlohmann::json PluginReportsToJson(std::span<const PluginReport> reports) {
  nlohmann::json array = nlohmann::json::array();
  for (const PluginReport& report : reports) {
    nlohmann::json abi = {{"built", report.abi_built}, {"effective", report.abi_effective}, {"draft", report.draft}};
    array.push_back({{"id", report.id},
                     {"path", report.path},
                     {"state", PluginStateName(report.state)},
                     {"code", report.code},
                     {"reason", report.reason},
                     {"abi", std::move(abi)},
                     {"build_id", report.build_id},
                     {"version", report.version},
                     {"devices", report.devices},
                     {"ops", report.ops}});
  }
  return array;
}

std::string PluginReportsToText(std::span<const PluginReport> reports) {
  const auto widest = [&reports](std::size_t least, std::size_t most, auto&& text) {
    std::size_t size = least;
    for (const PluginReport& report : reports) size = std::max(size, text(report).size());
    return std::min(size, most);
  };
  const auto id_of = [](const PluginReport& report) { return report.id.empty() ? std::string("-") : report.id; };
  const auto devices_of = [](const PluginReport& report) {
    return report.devices.empty() ? std::string("-") : Join(report.devices, ",");
  };
  const std::size_t id_width = widest(2, 32, id_of);
  const std::size_t version_width = widest(7, 10, [](const PluginReport& report) { return report.version; });
  const std::size_t device_width = widest(7, 14, devices_of);
  const auto row = [&](const std::string& id, const std::string& version, const std::string& abi,
                       const std::string& state, const std::string& devices, const std::string& ops,
                       const std::string& build) {
    return fmt::format("{:<{}}  {:<{}}  {:<13}  {:<7}  {:<{}}  {:>4}  {}\n", Cut(id, id_width), id_width,
                       Cut(version, version_width), version_width, abi, state, Cut(devices, device_width), device_width,
                       ops, build);
  };
  std::string text = row("ID", "VERSION", "ABI", "STATE", "DEVICES", "OPS", "BUILD");
  for (const PluginReport& report : reports) {
    text += row(id_of(report), report.version.empty() ? "-" : report.version, Abi(report),
                PluginStateName(report.state), devices_of(report), std::to_string(report.ops),
                report.build_id.empty() ? "-" : report.build_id.substr(0, 8));
    text += "    " + report.path + "\n";
    if (!report.reason.empty()) text += WrapLines(report.reason, 4, kColumns);
  }
  return text;
}

}  // namespace tenon
