// The kit as a whole: which cases, against which file, printed how.
#pragma once

#include <string>
#include <vector>

namespace tenon::conform {

struct KitOptions {
  std::string plugin;
  std::vector<std::string> only;
  std::vector<std::string> devices;  // files of plugins that lend their device
  std::string repro;
  std::string exceptions;
  std::vector<std::string> plugin_options;
  std::string junit;
  std::string perf;
  bool json = false;
  bool list = false;
  bool markdown = false;
  bool long_runs = false;
};

// Exit code: 0 all passed, 1 a case failed, 2 wrong usage, 3 the plugin would not load.
int RunKit(const KitOptions& options);

}  // namespace tenon::conform
