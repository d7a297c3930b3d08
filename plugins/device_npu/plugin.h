// The plugin instance: what the YAML file says, and the memory of each device.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/health.h"
#include "runtime/memory.h"
#include "runtime/recorder.h"
#include "tenon/sdk/sdk.h"

namespace tenon::npu {

inline constexpr char kDeviceKind[] = "npu";

class NpuPlugin final : public sdk::Plugin {
 public:
  int32_t Start(const tenon_create_args& args, sdk::Error& error) override;
  int32_t DeviceCount(uint32_t& out, sdk::Error& error) override;
  int32_t DescribeDevice(uint32_t index, tenon_device_info& out, sdk::Error& error) override;
  int32_t OpenDevice(uint32_t index, sdk::Device** out, sdk::Error& error) override;
  int32_t Query(uint32_t index, std::string_view key, tenon_value& out, sdk::Error& error) override;
  sdk::Profiler* profiler() override { return &profiler_; }
  NpuProfiler& npu_profiler() { return profiler_; }

 private:
  int32_t CheckIndex(uint32_t index, sdk::Error& error) const;

  int64_t memory_mb_ = 0, copy_engines_ = 1;
  Faults faults_;
  NpuProfiler profiler_;
  std::vector<std::string> ids_;                   // by device
  std::vector<std::shared_ptr<Memory>> memories_;  // by device; made when it is opened first
};

// All kernels; the table lives as long as the library.
struct NpuTables {
  static sdk::Table<tenon_kernel_def> Kernels();
};

}  // namespace tenon::npu
