#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/base/thread_pool.h"
#include "core/device/device.h"
#include "core/exec/device_target.h"
#include "core/ops/op_def.h"
#include "core/plugin/plugin_config.h"
#include "core/plugin/plugin_registry.h"

namespace tenon::exec {

struct RuntimeOptions {
  PluginsConfig plugins;
  std::vector<std::string> plugin_dirs;  // --plugin-dir
  std::string device = "cpu";            // kind or kind:index
  std::uint32_t local_rank = 0;          // of this process on its node: picks among several devices of a kind
  int threads = 1;                       // compute threads; 0: all cores
  bool math_high = false;                // math: high
  bool host_fallback = false;            // nodes for which the device has no kernel run on the host
};

// Plugins, one opened device and its kernels: what a run or an embedding program needs before it has a network. Destroyed
// in the reverse order, plugins last. Main thread.
class Runtime {
 public:
  static Result<std::unique_ptr<Runtime>> Open(const RuntimeOptions& options);
  ~Runtime();

  PluginRegistry& registry() { return *registry_; }
  Device& device() { return *device_; }
  DeviceTarget& target() { return *target_; }
  // The built-in operators and those of the plugins.
  const OpRegistry& ops() const { return ops_; }
  int threads() const { return pool_->threads(); }

 private:
  Runtime() = default;

  std::unique_ptr<ThreadPool> pool_;
  std::unique_ptr<PluginRegistry> registry_;
  std::vector<std::unique_ptr<PluginHandle>> handles_;
  OpRegistry ops_{&BuiltinOps()};
  std::unique_ptr<Device> device_;
  std::unique_ptr<DeviceTarget> target_;
};

// Refuses more compute threads than make sense on this machine.
Status CheckThreads(int threads);

// What the engine needs of a created plugin.
PluginHandle HandleOf(const Plugin& plugin, int priority);

}  // namespace tenon::exec
