// The heart of a 2 x 2 pool. Included by files compiled per instruction set.
#pragma once

#include "plugins/device_cpu/compute/vec.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

// The first greatest of four, in scan order; NaN is above all.
TENON_INLINE void MaxOfFour(Vec v0, Vec v1, Vec v2, Vec v3, Vec& best, IVec& where) {
  const IVec right_top = v1 > v0, right_bottom = v3 > v2;
  const Vec top = right_top ? v1 : v0, bottom = right_bottom ? v3 : v2;
  const IVec lower = bottom > top;
  best = lower ? bottom : top;
  where = lower ? SetI(2) - right_bottom : -right_top;  // a true mask is -1
  const Vec sum = (v0 + v1) + (v2 + v3);
  if (__builtin_expect(!Any(sum != sum), 1)) return;
  const Vec values[4] = {v0, v1, v2, v3};
  best = v0;
  where = IVec{};
  for (int i = 1; i < 4; ++i) {
    const IVec take = (values[i] > best) | ((values[i] != values[i]) & (best == best));
    best = take ? values[i] : best;
    where = take ? SetI(i) : where;
  }
}

}  // namespace
}  // namespace tenon::cpu::TENON_CPU_ISA
