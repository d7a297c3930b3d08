#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "core/plugin/checked_tables.h"
#include "core/plugin/host_services.h"
#include "core/plugin/plugin_library.h"

namespace tenon {

class Plugin;

// One device a plugin lists. Plain data; valid as long as the plugin's registry.
struct PluginDevice {
  Plugin* plugin = nullptr;
  std::uint32_t index = 0;       // for the plugin's slots
  std::uint32_t kind_index = 0;  // counted within its kind, as users write it: "npu:1"
  std::uint32_t flags = 0;       // tenon_device_flag
  std::string kind;
  std::string name;
  std::string unique_id;
  std::int64_t memory_bytes = 0;  // 0: not known
  std::string native_stream_kind;
  std::string native_memory_kind;
  int numa_node = -1;
  std::string driver_version;

  // "cpu:0"
  std::string text() const;
};

// An opened plugin and, once created, its one instance in this registry.
class Plugin {
 public:
  Plugin(const PluginLibrary* library, const HostContext& context, ConfigNode options);
  ~Plugin();  // destroys
  Plugin(const Plugin&) = delete;
  Plugin& operator=(const Plugin&) = delete;

  const PluginLibrary& library() const { return *library_; }
  const std::string& id() const { return library_->id(); }
  const std::string& version() const { return library_->version(); }
  std::uint32_t abi_minor() const { return library_->abi_minor(); }

  // Table copied to the host's size: test a slot for NULL and nothing else. Null when the plugin has no such interface.
  template <class T>
  const T* Interface() const {
    return checked_ != nullptr ? checked_->Interface<T>() : library_->Interface<T>();
  }

  // Makes the instance unless it is there: TN-PLG-081 .. 084. A key under `options:` that the plugin did not ask for is
  // an error. Main thread.
  Status Create();
  bool created() const { return instance_ != nullptr; }
  // First argument of plugin-wide slots; null before Create (lists, inference, supports and match accept that).
  tenon_plugin* instance() const { return instance_; }
  // What the plugin got as host services; tests and adapters that pass them on.
  const tenon_host_api* host_api() const { return services_.api(); }

  // OK while calls into the plugin make sense; FAILED_PRECONDITION after Destroy and in a forked child. Cheap; wrappers
  // of slots that are not hot ask it first.
  Status Usable() const;

  // "plugin com.vendor.npu: <what the sink says>", OK for code 0.
  Status ToStatus(std::int32_t code, const tenon_error& error) const;

  // Devices listed by device_count and device_info; empty without the interface. Create first. TN-PLG-064 on failure.
  Result<std::vector<PluginDevice>> ListDevices();
  // Device kinds named by the kernels it lists, sorted; needs no instance.
  std::vector<std::string> KernelDeviceKinds() const;
  // (domain, op type) of every operator it defines or has a kernel for, sorted, each once; needs no instance.
  std::vector<std::pair<std::string, std::string>> Operators() const;

  const PluginOptions& options() const { return services_.options(); }
  // What creating changed in the process (TN-PLG-037).
  const std::vector<std::string>& changes() const { return changes_; }

  // Destroys the instance; then every host service refuses. All devices, kernels and communicators were destroyed before.
  void Destroy();

 private:
  Status CallCreate();

  const PluginLibrary* library_;
  const CheckedTables* checked_ = nullptr;  // in front of the library's tables, with `check: true`
  HostServices services_;
  std::string label_;  // "plugin com.vendor.npu"
  tenon_plugin* instance_ = nullptr;
  bool destroyed_ = false;
  std::vector<std::string> changes_;
};

}  // namespace tenon
