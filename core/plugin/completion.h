#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "tenon/abi/types.h"

namespace tenon {
class CompletionQueue;
}

// The host's side of a completion token: handed to a plugin, completed exactly once from any thread.
struct tenon_token {
  tenon::CompletionQueue* queue = nullptr;
  tenon_token* next = nullptr;
  void* user = nullptr;
  std::atomic<std::uint32_t> state{0};  // 0 free, 1 pending, 2 completed
  std::int32_t code = 0;
  std::uint32_t text_size = 0;
  std::int64_t completed_ns = 0;  // MonotonicNs
  char text[1000];                // what does not fit is cut, and ends in dots

  std::string_view message() const { return {text, text_size}; }
};

namespace tenon {

// Collects completions. Complete() takes no lock and allocates nothing, so driver threads may call it; the tokens of a
// queue are kept and reused, and live as long as the queue.
class CompletionQueue {
 public:
  CompletionQueue() = default;
  CompletionQueue(const CompletionQueue&) = delete;
  CompletionQueue& operator=(const CompletionQueue&) = delete;

  // A pending token; `user` comes back with its completion. Any thread.
  tenon_token* Start(void* user);
  // The next completion, or null when there is none now. Hand the token back with Recycle.
  tenon_token* Poll();
  // Waits for a completion. Never returns null; call only while tokens are pending.
  tenon_token* Wait();
  void Recycle(tenon_token* token);
  // Tokens started and not yet polled.
  std::int64_t pending() const { return pending_.load(std::memory_order_acquire); }

  // False when the token was completed before (the call is ignored then).
  static bool Complete(tenon_token* token, std::int32_t code, std::string_view text) noexcept;

 private:
  std::atomic<tenon_token*> arrived_{nullptr};  // newest first
  std::atomic<std::uint32_t> arrivals_{0};
  std::atomic<std::int64_t> pending_{0};
  std::mutex mutex_;              // guards what follows
  tenon_token* ready_ = nullptr;  // oldest first
  std::vector<tenon_token*> free_;
  std::vector<std::unique_ptr<tenon_token>> all_;
};

}  // namespace tenon
