// Is the device still there? And the faults that the YAML file asks for.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "tenon/sdk/error.h"

namespace tenon::npu {

// Options faults.* of the plugin; 0 means never.
struct Faults {
  int64_t lost_at_call = 0;         // the device is lost when call number so many starts
  int64_t out_of_memory_bytes = 0;  // allocations fail when more than so many bytes would be in use
  double slow_copy_ms_per_mb = 0;   // what each MB of a transfer takes longer
  int64_t late_completion_ms = 0;   // how much later completions arrive
};

// Shared by everything that belongs to an opened device. Any thread.
class Health {
 public:
  explicit Health(const Faults& faults) : faults_(faults) {}

  const Faults& faults() const { return faults_; }
  bool lost() const { return lost_.load(std::memory_order_acquire); }
  // Counts one call that starts; the one that the fault names loses the device.
  void CountCall() {
    const int64_t call = calls_.fetch_add(1, std::memory_order_relaxed) + 1;
    if (call == faults_.lost_at_call) lost_.store(true, std::memory_order_release);
  }
  // DEVICE_LOST with its reason, or OK.
  int32_t Check(sdk::Error& error) const {
    if (!lost()) return TENON_OK;
    const std::string text = LossText();
    tenon_error_info info = TENON_INIT(tenon_error_info);
    info.code = TENON_DEVICE_LOST;
    info.flags = TENON_ERROR_STICKY | TENON_ERROR_FATAL;
    info.message = sdk::Str(text);
    return error.Fail(info);
  }
  std::string LossText() const {
    return "The device was lost at call " + std::to_string(faults_.lost_at_call) + " (option faults.lost_at_call).";
  }

 private:
  const Faults faults_;
  std::atomic<int64_t> calls_{0};
  std::atomic<bool> lost_{false};
};

}  // namespace tenon::npu
