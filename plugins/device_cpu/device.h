// The device: ordinary host memory, streams on the calling thread, and the channel-last layout.
#pragma once

#include "plugins/device_cpu/plugin.h"

namespace tenon::cpu {

class CpuDevice final : public sdk::HostDevice {
 public:
  CpuDevice(CpuPlugin& plugin, uint64_t limit_bytes) : HostDevice(plugin, limit_bytes), plugin_(plugin) {}

  int32_t LayoutInfo(uint32_t layout, uint32_t dtype, sdk::Dims dims, tenon_layout_info& out,
                     sdk::Error& error) override;
  int32_t Reorder(sdk::Tensor source, sdk::Tensor target, sdk::Stream* stream, sdk::Error& error) override;
  int32_t FindLayout(std::string_view name, uint32_t& out, sdk::Error& error) override;

 private:
  CpuPlugin& plugin_;
};

}  // namespace tenon::cpu
