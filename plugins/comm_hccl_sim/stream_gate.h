// The order of one operation among other work: what comes before it is done when it is ready, and what comes behind waits
// until it is finished.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>

#include "hccl/fault.h"
#include "tenon/native/npu_sim.h"

namespace tenon::hccl {

class StreamGate {
 public:
  void SetReady();
  void Finish(int32_t code, const std::string& text);
  // Until ready; false when `stop` was set first.
  bool AwaitReady(const std::atomic<bool>& stop);
  int32_t AwaitFinished(std::string* text);

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ready_ = false, finished_ = false;
  int32_t code_ = TENON_OK;
  std::string text_;
};

// A gate in the order of a stream of the simulated accelerator. Throws a Fault when the device is lost.
std::shared_ptr<StreamGate> GateOn(tenon_npu_sim_stream* stream);

}  // namespace tenon::hccl
