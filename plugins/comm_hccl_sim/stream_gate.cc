#include "stream_gate.h"

#include <chrono>

namespace tenon::hccl {

void StreamGate::SetReady() {
  const std::lock_guard<std::mutex> lock(mutex_);
  ready_ = true;
  changed_.notify_all();
}

void StreamGate::Finish(int32_t code, const std::string& text) {
  const std::lock_guard<std::mutex> lock(mutex_);
  code_ = code;
  text_ = text;
  finished_ = true;
  changed_.notify_all();
}

bool StreamGate::AwaitReady(const std::atomic<bool>& stop) {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!ready_ && !stop.load(std::memory_order_acquire)) changed_.wait_for(lock, std::chrono::milliseconds(10));
  return ready_;
}

int32_t StreamGate::AwaitFinished(std::string* text) {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [this] { return finished_; });
  if (text != nullptr) *text = text_;
  return code_;
}

std::shared_ptr<StreamGate> GateOn(tenon_npu_sim_stream* stream) {
  auto gate = std::make_shared<StreamGate>();
  auto* theirs = new std::shared_ptr<StreamGate>(gate);
  const auto wait = [](void* user) -> int32_t {
    const std::unique_ptr<std::shared_ptr<StreamGate>> mine(static_cast<std::shared_ptr<StreamGate>*>(user));
    (*mine)->SetReady();
    return (*mine)->AwaitFinished(nullptr);
  };
  const int32_t code = stream->enqueue(stream, wait, theirs);
  if (code == TENON_OK) return gate;
  delete theirs;
  throw Fault(code, Ei::kNone, "The operation cannot be enqueued on its stream: the device is lost.");
}

}  // namespace tenon::hccl
