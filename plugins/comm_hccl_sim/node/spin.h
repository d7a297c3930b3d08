// How long to look before sleeping. Waking a sleeper costs tens of microseconds, so ranks that have a core each look for a
// while; but a rank whose peer needs the core to get anywhere only delays it. The budget follows what waits turned out to be.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "node/clock.h"

namespace tenon::hccl {

class Spin {
 public:
  // `allowed`: the ranks of this node do not outnumber its cores.
  explicit Spin(bool allowed) : budget_ns_(allowed ? kLongest : 0), allowed_(allowed) {}

  bool allowed() const { return allowed_; }

  // Looks for `ready` within the budget.
  template <typename Ready>
  bool Until(const Ready& ready) const {
    const uint64_t budget = budget_ns_.load(std::memory_order_relaxed);
    if (ready()) return true;
    if (budget == 0) return false;
    const uint64_t end = NowNs() + budget;
    do {
      for (int i = 0; i < 16; ++i) {
        if (ready()) return true;
        __builtin_ia32_pause();
      }
    } while (NowNs() < end);
    return ready();
  }

  // Looks once and remembers whether it paid; now and then for the longest time, to notice when it would again.
  template <typename Ready>
  bool Try(const Ready& ready) {
    if (!allowed_) return ready();
    if (++tries_ % 32 == 0) budget_ns_.store(kLongest, std::memory_order_relaxed);
    const bool there = Until(ready);
    const uint64_t budget = budget_ns_.load(std::memory_order_relaxed);
    budget_ns_.store(there ? std::min(kLongest, budget * 2) : std::max(kShortest, budget / 2),
                     std::memory_order_relaxed);
    return there;
  }

  // How long the wait really took.
  void Learn(uint64_t waited_ns) {
    if (!allowed_) return;
    const uint64_t budget = budget_ns_.load(std::memory_order_relaxed);
    // A wait that sleeping made long would have been short: both count as short up to twice the longest look.
    const uint64_t next = waited_ns <= 2 * kLongest ? std::min(kLongest, budget * 4) : std::max(kShortest, budget / 2);
    budget_ns_.store(next, std::memory_order_relaxed);
  }

 private:
  static constexpr uint64_t kLongest = 60'000, kShortest = 1'000;
  std::atomic<uint64_t> budget_ns_;
  uint32_t tries_ = 0;
  const bool allowed_;
};

}  // namespace tenon::hccl
