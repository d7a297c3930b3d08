#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/config/node.h"

namespace tenon {

struct ConfigTable;

// The `plugins:` section of a run. Defaults, bounds and sentences stand in plugin_config.cc.

// One entry of `plugins.load`: `device_cpu`, `./libvendor.so` or `{path: ./libvendor.so, required: true, options: {..}}`.
// Exactly one of `name` and `path` is set.
struct PluginLoadConfig {
  std::string name;      // file <name>.so or lib<name>.so in the folders searched
  ConfigPath path;       // a path, when a slash is in it
  bool required = false;
  ConfigNode options;    // a map for the plugin, or nothing; the plugin's own declaration checks it
  Place place;           // of the entry
};

enum class PluginTrust { kStrict, kWarn, kOff };

struct PluginConfig {
  std::vector<ConfigPath> search;
  std::vector<PluginLoadConfig> load;
  std::map<std::string, ConfigPath> pin;          // plugin id -> path
  std::map<std::string, std::int64_t> priority;   // plugin id -> number; higher wins
  std::optional<PluginTrust> trust;               // absent: strict or warn by where the file lies
};

const ConfigTable& ConfigTableOf(const PluginLoadConfig*);
const ConfigTable& ConfigTableOf(const PluginConfig*);

}  // namespace tenon
