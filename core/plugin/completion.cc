#include "core/plugin/completion.h"

#include <algorithm>
#include <cstring>

#include "core/platform/process.h"

namespace tenon {

tenon_token* CompletionQueue::Start(void* user) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (free_.empty()) {
    all_.push_back(std::make_unique<tenon_token>());
    free_.reserve(all_.size());
    free_.push_back(all_.back().get());
  }
  tenon_token* token = free_.back();
  free_.pop_back();
  token->queue = this;
  token->next = nullptr;
  token->user = user;
  token->text_size = 0;
  token->state.store(1, std::memory_order_release);
  pending_.fetch_add(1, std::memory_order_acq_rel);
  return token;
}

bool CompletionQueue::Complete(tenon_token* token, std::int32_t code, std::string_view text) noexcept {
  std::uint32_t expected = 1;
  if (token == nullptr || !token->state.compare_exchange_strong(expected, 3, std::memory_order_acq_rel)) return false;
  token->code = code;
  token->completed_ns = MonotonicNs();
  token->text_size = static_cast<std::uint32_t>(std::min(text.size(), sizeof(token->text)));
  if (token->text_size > 0) std::memcpy(token->text, text.data(), token->text_size);
  constexpr std::string_view kCut = " ...";
  if (text.size() > sizeof(token->text)) kCut.copy(token->text + sizeof(token->text) - kCut.size(), kCut.size());
  // Whoever sees 2 sees the result; in between, 3 keeps others from completing it as well.
  token->state.store(2, std::memory_order_release);
  CompletionQueue* queue = token->queue;
  tenon_token* head = queue->arrived_.load(std::memory_order_relaxed);
  do {
    token->next = head;
  } while (!queue->arrived_.compare_exchange_weak(head, token, std::memory_order_acq_rel, std::memory_order_relaxed));
  queue->arrivals_.fetch_add(1, std::memory_order_release);
  queue->arrivals_.notify_one();
  return true;
}

tenon_token* CompletionQueue::Poll() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (ready_ == nullptr) {
    tenon_token* newest_first = arrived_.exchange(nullptr, std::memory_order_acquire);
    while (newest_first != nullptr) {
      tenon_token* next = newest_first->next;
      newest_first->next = ready_;
      ready_ = newest_first;
      newest_first = next;
    }
  }
  tenon_token* token = ready_;
  if (token != nullptr) {
    ready_ = token->next;
    pending_.fetch_sub(1, std::memory_order_acq_rel);
  }
  return token;
}

tenon_token* CompletionQueue::Wait() {
  for (;;) {
    const std::uint32_t seen = arrivals_.load(std::memory_order_acquire);
    if (tenon_token* token = Poll()) return token;
    arrivals_.wait(seen, std::memory_order_acquire);
  }
}

void CompletionQueue::Recycle(tenon_token* token) {
  const std::lock_guard<std::mutex> lock(mutex_);
  token->state.store(0, std::memory_order_release);
  free_.push_back(token);
}

}  // namespace tenon
