#pragma once

#include <string>
#include <vector>

namespace tenon {

// `tenon doctor plugins [CONFIG] [--plugin-dir DIR]... [--json]`
struct DoctorPluginsOptions {
  std::string config;
  std::vector<std::string> plugin_dirs;
  bool json = false;
};
// As `plugin list`, but each plugin is opened in a process of its own, so that one that ends the process is told from
// one that works, and each row says what to do (`fix`). 0 when nothing is refused, else 3; 2 for a bad config.
int RunDoctorPlugins(const DoctorPluginsOptions& options);

}  // namespace tenon
