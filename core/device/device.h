#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "core/device/activity.h"
#include "core/device/plugin_handle.h"
#include "core/tensor/tensor.h"

namespace tenon {

class Device;

// One allocation in the default memory space of a device; freed with the object, which must not outlive its device.
class Buffer {
 public:
  Buffer() = default;
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer();
  std::uint64_t address() const { return address_; }  // 0 for zero bytes
  std::int64_t bytes() const { return bytes_; }

 private:
  friend class Device;
  Device* device_ = nullptr;
  tenon_buffer* handle_ = nullptr;
  std::uint64_t address_ = 0;
  std::int64_t bytes_ = 0;
};

// Bytes of one tensor in a layout, as layout_info says.
struct LayoutFacts {
  std::int64_t bytes = 0;
  std::int64_t align = 64;
  std::string name = "strided";
};

// A view record without memory: dims point into `shape`, which must live as long as the record.
tenon_tensor ViewOf(DType dtype, const Shape& shape, std::uint32_t layout, std::uint64_t address, bool host_accessible);

// Counts of copies between host memory and a device's own, for the summary; none where the host can reach the memory.
struct CopyCounts {
  std::int64_t to_device = 0, to_device_bytes = 0;
  std::int64_t to_host = 0, to_host_bytes = 0;
};

// An opened device with one compute stream. All calls from one thread. Argument checks, messages and counts stand here,
// once, so that no plugin needs them.
class Device {
 public:
  // Opens device `index` of a plugin that offers `kind`.
  static Result<std::unique_ptr<Device>> Open(const PluginHandle& plugin, std::uint32_t index);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  const PluginHandle& plugin() const { return plugin_; }
  const std::string& kind() const { return kind_; }
  const std::string& name() const { return name_; }  // for people
  std::uint32_t index() const { return index_; }
  bool host_accessible() const { return host_accessible_; }  // an address is a pointer for the host
  bool inline_streams() const { return inline_streams_; }    // work is finished when the call returns
  tenon_device* handle() const { return device_; }
  tenon_stream* stream() const { return stream_; }
  tenon_space* space() const { return space_; }
  std::string_view native_stream_kind() const { return native_stream_kind_; }
  std::string_view native_memory_kind() const { return native_memory_kind_; }  // what an address means

  // Aligned to at least 64 bytes. RESOURCE_EXHAUSTED names what was asked and what is free.
  Result<Buffer> Allocate(std::int64_t bytes, std::uint32_t hint);
  std::int64_t current_bytes() const { return current_bytes_; }
  std::int64_t peak_bytes() const { return peak_bytes_; }

  Result<LayoutFacts> Facts(std::uint32_t layout, DType dtype, const Shape& shape) const;
  std::string LayoutName(std::uint32_t layout) const;

  // Enqueued on the compute stream; the views must be on this device.
  Status Reorder(const tenon_tensor& source, const tenon_tensor& target);
  Status CopyOnDevice(std::uint64_t source, std::uint64_t target, std::int64_t bytes);
  // Enqueued; the source may change when it returns.
  Status CopyFromHost(const void* source, std::uint64_t target, std::int64_t bytes);
  // Done when it returns, and everything that was enqueued before.
  Status CopyToHost(std::uint64_t source, void* target, std::int64_t bytes);
  // A tensor in any layout from row-major host memory, enqueued like CopyFromHost, and to it, done when it returns.
  Status Store(const Tensor& source, std::uint32_t layout, std::uint64_t target);
  Result<Tensor> Load(DType dtype, const Shape& shape, std::uint32_t layout, std::uint64_t source);

  Status Synchronize();
  const CopyCounts& copies() const { return copies_; }

  // Where the time goes while a run is profiled; null else. The log must outlive its use.
  ActivityLog* activity() const { return activity_; }
  void set_activity(ActivityLog* log) { activity_ = log; }

 private:
  friend class Buffer;
  friend class SideStream;
  explicit Device(const PluginHandle& plugin) : plugin_(plugin) {}
  Status Initialise(std::uint32_t index);
  Status PickSpace();
  Status Copy(tenon_space* source_space, std::uint64_t source, tenon_space* target_space, std::uint64_t target,
              std::int64_t bytes);
  void Free(tenon_buffer* buffer, std::int64_t bytes);
  Status NothingGiven(std::string_view call, std::string_view result) const;
  std::string Subject() const;

  PluginHandle plugin_;
  std::string kind_, name_, native_stream_kind_, native_memory_kind_;
  std::uint32_t index_ = 0;
  bool host_accessible_ = false, inline_streams_ = false;
  tenon_device* device_ = nullptr;
  tenon_stream* stream_ = nullptr;
  tenon_space* space_ = nullptr;
  std::int64_t current_bytes_ = 0, peak_bytes_ = 0;
  CopyCounts copies_;
  ActivityLog* activity_ = nullptr;
};

}  // namespace tenon
