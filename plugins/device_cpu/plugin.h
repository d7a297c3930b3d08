// The plugin instance: the routines for this processor and what the YAML file says.
#pragma once

#include "plugins/device_cpu/compute/routines.h"
#include "tenon/sdk/sdk.h"

namespace tenon::cpu {

namespace sdk = tenon::sdk;

inline constexpr char kDeviceKind[] = "cpu";
// Domain of the fused operators.
inline constexpr char kDomain[] = "org.tenon.cpu";

// Layouts beside TENON_LAYOUT_STRIDED.
enum Layout : uint32_t {
  kNhwc = 1,  // rank 4, channel-last: [n][h][w][c] for dims [n, c, h, w], no padding
};

class CpuPlugin final : public sdk::Plugin {
 public:
  int32_t Start(const tenon_create_args& args, sdk::Error& error) override;
  int32_t DeviceCount(uint32_t& out, sdk::Error& error) override;
  int32_t DescribeDevice(uint32_t index, tenon_device_info& out, sdk::Error& error) override;
  int32_t OpenDevice(uint32_t index, sdk::Device** out, sdk::Error& error) override;
  int32_t Query(uint32_t index, std::string_view key, tenon_value& out, sdk::Error& error) override;
  sdk::Profiler* profiler() override { return &profiler_; }

  const Routines& routines() const { return *routines_; }
  // Products of three bf16 ones even where those of float32 are faster.
  bool always_splits() const { return always_splits_; }

 private:
  const Routines* routines_ = nullptr;
  int64_t memory_mb_ = 0;
  bool always_splits_ = false;
  sdk::Profiler profiler_{/*inline_calls=*/true};
};

// All kernels and fused operators; the tables live as long as the library.
struct CpuTables {
  static sdk::Table<tenon_kernel_def> Kernels();
  static sdk::Table<tenon_fused_def> Fused();
};

}  // namespace tenon::cpu
