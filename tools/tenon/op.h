#pragma once

#include <string>
#include <vector>

namespace tenon {

// tenon op list: every operator, with what there is for it.
struct OpListOptions {
  std::string config;  // its `plugins:` section; empty: the default search
  std::vector<std::string> plugin_dirs;
  bool json = false;
};
int RunOpList(const OpListOptions& options);

}  // namespace tenon
