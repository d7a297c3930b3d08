// Sums over the values of a row. Included by files compiled per instruction set.
#pragma once

#include "plugins/device_cpu/compute/vec.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

// The other lanes are zero.
TENON_INLINE Vec FirstLanes(Vec v, int64_t count) {
  if (count >= kLanes) return v;
  TENON_UNROLL for (int i = 0; i < kLanes; ++i) v[i] = i < count ? v[i] : 0.0f;
  return v;
}

// Two sums at a time hide the latency of additions.
template <class F>
TENON_INLINE float SumOver(int64_t columns, const F& term) {
  Vec sum[2] = {Zero(), Zero()};
  int64_t c = 0;
  for (; c + 2 * kLanes <= columns; c += 2 * kLanes) {
    sum[0] += term(c, kLanes);
    sum[1] += term(c + kLanes, kLanes);
  }
  for (; c < columns; c += kLanes) sum[0] += term(c, Min(kLanes, columns - c));
  return SumLanes(sum[0] + sum[1]);
}

}  // namespace
}  // namespace tenon::cpu::TENON_CPU_ISA
