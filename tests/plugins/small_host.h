// A host of a page: enough to create the plugin and call its kernels without the core's loader.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tenon/sdk/sdk.h"

namespace tenon::testing {

// The opened plugin with one device. Aborts the test program when it cannot be opened.
class SmallHost {
 public:
  // `path`: the plugin file; `isa`: its option.
  SmallHost(const std::string& path, const std::string& isa);

  const tenon_op_vtable& ops() const { return *ops_; }
  const tenon_device_vtable& devices() const { return *devices_; }
  tenon_plugin* plugin() const { return plugin_; }
  tenon_device* device() const { return device_; }
  const std::string& last_error() const { return error_; }

 private:
  std::string isa_, error_;
  tenon_host_api api_{};
  tenon_plugin* plugin_ = nullptr;
  tenon_device* device_ = nullptr;
  const tenon_op_vtable* ops_ = nullptr;
  const tenon_device_vtable* devices_ = nullptr;
};

}  // namespace tenon::testing
