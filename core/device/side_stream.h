#pragma once

#include <cstdint>
#include <memory>

#include "core/base/status.h"
#include "core/device/device.h"

namespace tenon {

// A second stream of a device, for work of another plugin that may run beside the compute stream. Must not outlive its
// device; used by the device's thread.
class SideStream {
 public:
  // UNIMPLEMENTED where the device has no native handles to share.
  static Result<std::unique_ptr<SideStream>> Make(Device& device, std::uint32_t role);
  ~SideStream();
  SideStream(const SideStream&) = delete;
  SideStream& operator=(const SideStream&) = delete;

  // Handle of the kind Device::native_stream_kind.
  std::uint64_t native() const { return native_; }
  // What is enqueued here from now on waits for all that is on the compute stream so far.
  Status Follow();

 private:
  explicit SideStream(Device& device) : device_(device) {}
  Status Open(std::uint32_t role);

  Device& device_;
  tenon_stream* stream_ = nullptr;
  tenon_event* event_ = nullptr;
  std::uint64_t native_ = 0;
};

}  // namespace tenon
