#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace tenon::testing_support {

// The folder of the build whose test this is.
inline std::string BuildFolder() {
  const char* build = std::getenv("TENON_BUILD_DIR");
  if (build != nullptr) return build;
  return std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path().string();
}

}  // namespace tenon::testing_support
