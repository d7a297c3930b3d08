// How long to look before sleeping. Waking a sleeper costs tens of microseconds, so ranks that have a core each look for a
// while; but a rank whose peer shares its core, or is far behind, only delays it. The budget follows whether looking helped.
#pragma once

#include <algorithm>
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
  bool Until(const Ready& ready) {
    if (ready()) return true;
    if (!allowed_) return false;
    // Now and then long enough to catch a peer that was woken twice on its way: then both are in step again.
    const bool probe = ++waits_ % kProbeEvery == 0;
    const uint64_t end = NowNs() + (probe ? kProbe : budget_ns_);
    bool there = false;
    do {
      for (int i = 0; i < 16 && !there; ++i) {
        there = ready();
        if (!there) __builtin_ia32_pause();
      }
    } while (!there && NowNs() < end);
    budget_ns_ = there ? kLongest : std::max(kShortest, budget_ns_ / 2);
    return there;
  }

 private:
  static constexpr uint64_t kLongest = 100'000, kShortest = 1'000, kProbe = 400'000;
  static constexpr uint32_t kProbeEvery = 64;
  uint64_t budget_ns_ = 0;
  uint32_t waits_ = 0;
  bool allowed_ = false;
};

}  // namespace tenon::hccl
