#pragma once

#include <string>
#include <vector>

namespace tenon {

// tenon op build: one file of C++ as a plugin, with the flags of tenon_add_plugin.
struct OpBuildOptions {
  std::string source;
  std::string output;    // empty: the source's name with .so
  std::string compiler;  // empty: $CXX, or c++
  bool verbose = false;  // print the call
};
int RunOpBuild(const OpBuildOptions& options);

}  // namespace tenon
