#pragma once

#include "core/exec/runtime.h"
#include "tests/support/build_folder.h"

namespace tenon::testing_support {

// The CPU plugin of this build and nothing else.
inline Result<std::unique_ptr<exec::Runtime>> OpenCpuRuntime(int threads = 1) {
  exec::RuntimeOptions options;
  options.threads = threads;
  options.plugins.trust = TrustPolicy::kOff;
  PluginLoadEntry entry;
  entry.path = BuildFolder() + "/lib/tenon/plugins/device_cpu.so";
  entry.required = true;
  options.plugins.load.push_back(entry);
  return exec::Runtime::Open(options);
}

}  // namespace tenon::testing_support
