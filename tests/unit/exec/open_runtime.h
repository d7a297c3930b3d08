#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

#include "core/exec/runtime.h"

namespace tenon::testing_support {

// The CPU plugin of this build and nothing else.
inline Result<std::unique_ptr<exec::Runtime>> OpenCpuRuntime(int threads = 1) {
  const char* build = std::getenv("TENON_BUILD_DIR");
  const std::string root =
      build == nullptr ? std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path().string() : build;
  exec::RuntimeOptions options;
  options.threads = threads;
  options.plugins.trust = TrustPolicy::kOff;
  PluginLoadEntry entry;
  entry.path = root + "/lib/tenon/plugins/device_cpu.so";
  entry.required = true;
  options.plugins.load.push_back(entry);
  return exec::Runtime::Open(options);
}

}  // namespace tenon::testing_support
