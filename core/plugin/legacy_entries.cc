#include "core/plugin/legacy_entries.h"

#include <algorithm>
#include <utility>

#include "core/plugin/plugin_precheck.h"

namespace tenon {
namespace {

constexpr const char* kAdapter = "legacy_aot";

// {path: .., and what the user wrote under options}
ConfigNode LibraryOptions(const PluginLoadEntry& entry) {
  std::vector<ConfigEntry> options = {
      {"path", entry.place, ConfigNode::Scalar(entry.path, ScalarStyle::kQuoted, entry.place)}};
  for (const ConfigEntry& option : entry.options.entries()) options.push_back(option);
  return ConfigNode::Map(std::move(options), entry.place);
}

}  // namespace

Result<PluginsConfig> WithLegacyAdapter(PluginsConfig config) {
  std::vector<PluginLoadEntry> plugins;
  std::vector<ConfigEntry> libraries;
  PluginLoadEntry adapter;
  for (PluginLoadEntry& entry : config.load) {
    if (entry.legacy.empty()) {
      plugins.push_back(std::move(entry));
      continue;
    }
    Status checked = PrecheckLegacyLibrary(entry.path, config.trust);
    if (!checked.ok()) return std::move(checked).At(entry.place.ToString());
    if (libraries.empty()) adapter.place = entry.place;
    libraries.push_back({std::to_string(libraries.size()), entry.place, LibraryOptions(entry)});
  }
  config.load = std::move(plugins);
  if (libraries.empty()) return config;
  adapter.name = kAdapter;
  adapter.required = true;  // who names an operator library needs it
  const Place place = adapter.place;
  const std::string count = std::to_string(libraries.size());
  adapter.options = ConfigNode::Map({{"count", place, ConfigNode::Scalar(count, ScalarStyle::kPlain, place)},
                                     {"libraries", place, ConfigNode::Map(std::move(libraries), place)}},
                                    place);
  config.load.push_back(std::move(adapter));
  return config;
}

}  // namespace tenon
