#pragma once

#include <string>
#include <vector>

namespace tenon {

// `tenon plugin list [CONFIG] [--plugin-dir DIR]... [--json]`
struct PluginListOptions {
  std::string config;  // empty: only the folders
  std::vector<std::string> plugin_dirs;
  bool json = false;
};
// Opens every plugin that is found and prints a row for each. Exit code 0; 2 for a bad config; 3 when an entry with
// `required: true` cannot be loaded.
int RunPluginList(const PluginListOptions& options);

// `tenon plugin info FILE... [--json]`
struct PluginInfoOptions {
  std::vector<std::string> files;
  bool json = false;
};
// Everything that one plugin says about itself: interfaces, devices, operators, options. 3 when it cannot be loaded.
int RunPluginInfo(const PluginInfoOptions& options);

// `tenon plugin check FILE... [--json]`
struct PluginCheckOptions {
  std::vector<std::string> files;
  bool json = false;
};
// Loads each file as a run would, with default options. 0 when all would load, else 3.
int RunPluginCheck(const PluginCheckOptions& options);

}  // namespace tenon
