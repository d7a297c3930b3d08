#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/config/node.h"

namespace tenon {

struct ConfigTable;

// What happens with a plugin that somebody else could have changed.
enum class TrustPolicy { kStrict, kWarn, kOff };

// One entry of `plugins.load`.
struct PluginLoadEntry {
  std::string name;  // file <name>.so or lib<name>.so in the folders searched; or
  std::string path;  // a file, absolute by now
  bool required = false;
  std::string legacy;  // "aot": no plugin but operators of an older interface, opened through an adapter
  ConfigNode options;  // a map, or nothing
  Place place;

  // As the user wrote it, for messages.
  const std::string& text() const { return name.empty() ? path : name; }
};

// The `plugins:` section of a run, paths made absolute against the file they were written in.
struct PluginsConfig {
  std::vector<std::string> search;
  std::vector<PluginLoadEntry> load;
  std::map<std::string, std::string> pin;  // plugin id -> file
  std::map<std::string, int> priority;     // plugin id -> rank, higher wins
  std::optional<TrustPolicy> trust;        // none: strict in system folders, else warn
  bool check = false;                      // checks between host and plugins (checked_tables.h)
  std::string file;                        // the config file, for messages; may be empty
};

const ConfigTable& ConfigTableOf(const PluginLoadEntry*);
const ConfigTable& ConfigTableOf(const PluginsConfig*);
std::vector<std::string> ConfigNamesOf(TrustPolicy);

}  // namespace tenon
