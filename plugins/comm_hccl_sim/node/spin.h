// How long to look before sleeping. Waking a sleeper costs tens of microseconds, so ranks that have a core each look for a
// while; but a rank whose peer needs the core to get anywhere only delays it. The budget follows what waits turned out to be.
#pragma once

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "node/clock.h"

namespace tenon::hccl {

class Spin {
 public:
  // Nobody spins before this: the ranks of the node do not outnumber its cores.
  void Allow() {
    allowed_ = true;
    budget_ns_ = kLongest;
  }

  // Looks for `ready` within the budget.
  template <typename Ready>
  bool Until(const Ready& ready) const {
    const uint64_t budget = budget_ns_.load(std::memory_order_relaxed);
    if (ready()) return true;
    if (budget == 0) return false;
    const uint64_t start = NowNs();
    for (uint64_t now = start; now < start + budget; now = NowNs()) {
      for (int i = 0; i < 16; ++i) {
        if (ready()) return true;
        __builtin_ia32_pause();
      }
      // Who is waited for may have been put on this very core.
      if (now >= start + kAlone) sched_yield();
    }
    return ready();
  }

  // How long a wait really took, however it was waited. What sleeping made long would have been short: waking takes as long as
  // the longest look, and both ranks may have slept.
  void Learn(uint64_t waited_ns) {
    if (!allowed_) return;
    const uint64_t budget = budget_ns_.load(std::memory_order_relaxed);
    const uint64_t next = waited_ns <= 3 * kLongest ? std::min(kLongest, budget * 4) : std::max(kShortest, budget / 2);
    if (next != budget) budget_ns_.store(next, std::memory_order_relaxed);
  }

 private:
  static constexpr uint64_t kAlone = 5'000;
  static constexpr uint64_t kLongest = 100'000, kShortest = 1'000;
  std::atomic<uint64_t> budget_ns_{0};
  bool allowed_ = false;
};

}  // namespace tenon::hccl
