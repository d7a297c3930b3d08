// A host of a page: enough to create a plugin, use a device's memory and call its kernels without the core's loader.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tenon/sdk/sdk.h"

namespace tenon::testing {

// The opened plugin with one device and a stream. Aborts the test program when it cannot be opened.
class SmallHost {
 public:
  // `path`: the plugin file; `options`: key=value, separated by blanks.
  SmallHost(const std::string& path, const std::string& options);
  SmallHost(const SmallHost&) = delete;
  SmallHost& operator=(const SmallHost&) = delete;
  ~SmallHost();

  const tenon_op_vtable& ops() const { return *ops_; }
  const tenon_device_vtable& devices() const { return *devices_; }
  const tenon_memory_vtable& memory() const { return *memory_; }
  const tenon_stream_vtable& streams() const { return *streams_; }
  tenon_plugin* plugin() const { return plugin_; }
  tenon_device* device() const { return device_; }
  tenon_space* space() const { return space_; }
  tenon_stream* stream() const { return stream_; }
  const std::string& kind() const { return kind_; }
  bool host_memory() const { return host_memory_; }  // the test may follow addresses of the device
  // Id of a layout by its name; strided for the empty name and one that the device does not know.
  uint32_t FindLayout(const std::string& name) const;
  // Waits for the stream; false: the work failed, last_error says why, and the stream was replaced.
  bool Finish();

  // Every call gets this sink; the text of the last failure is last_error.
  tenon_error* sink() const { return reinterpret_cast<tenon_error*>(const_cast<SmallHost*>(this)); }
  const std::string& last_error() const { return error_; }
  const tenon_error_info& last_info() const { return info_; }
  // Tokens that were completed, with their codes. Only between two calls of Finish.
  const std::map<const void*, std::vector<int32_t>>& completions() const { return completions_; }
  const std::string& Option(const std::string& key) const;

 private:
  void MakeStream();

  std::map<std::string, std::string> options_;
  std::string error_, kind_;
  tenon_error_info info_{};
  std::map<const void*, std::vector<int32_t>> completions_;
  tenon_host_api api_{};
  const tenon_plugin_descriptor* descriptor_ = nullptr;
  tenon_plugin* plugin_ = nullptr;
  tenon_device* device_ = nullptr;
  tenon_space* space_ = nullptr;
  tenon_stream* stream_ = nullptr;
  bool host_memory_ = false;
  const tenon_op_vtable* ops_ = nullptr;
  const tenon_device_vtable* devices_ = nullptr;
  const tenon_memory_vtable* memory_ = nullptr;
  const tenon_stream_vtable* streams_ = nullptr;
  friend struct SmallHostServices;
};

// One allocation of the default space; its content starts as 0xFF bytes.
class DeviceMemory {
 public:
  DeviceMemory() = default;
  DeviceMemory(SmallHost& host, uint64_t bytes);
  DeviceMemory(DeviceMemory&& other) noexcept { *this = std::move(other); }
  DeviceMemory& operator=(DeviceMemory&& other) noexcept;
  ~DeviceMemory();
  uint64_t address() const { return address_; }
  uint64_t bytes() const { return bytes_; }
  void Write(const void* from, uint64_t bytes) const;
  void Read(void* to, uint64_t bytes) const;

 private:
  SmallHost* host_ = nullptr;
  tenon_buffer* buffer_ = nullptr;
  uint64_t address_ = 0, bytes_ = 0;
};

}  // namespace tenon::testing
