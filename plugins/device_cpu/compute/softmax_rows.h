// Steps of a softmax over one row. Included by files compiled per instruction set.
#pragma once

#include "plugins/device_cpu/compute/math.h"
#include "plugins/device_cpu/compute/vec.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

// Values of a row beyond its end are `fill`.
TENON_INLINE Vec LoadRow(const float* x, int64_t count, float fill) {
  if (count >= kLanes) return Load(x);
  Vec v = LoadPartial(x, count);
  TENON_UNROLL for (int i = 0; i < kLanes; ++i) v[i] = i < count ? v[i] : fill;
  return v;
}

TENON_INLINE float RowMax(const float* x, int64_t n) {
  Vec best = LoadRow(x, n, x[0]);
  for (int64_t c = kLanes; c < n; c += kLanes) {
    const Vec v = LoadRow(x + c, n - c, x[0]);
    best = Select((v > best) | (v != v), v, best);
  }
  return MaxLanes(best);
}

// Sum of exp(x - top); writes the terms to `terms` unless it is null.
TENON_INLINE float SumOfExp(const float* x, int64_t n, float top, float* terms) {
  Vec sum = Zero();
  for (int64_t c = 0; c < n; c += kLanes) {
    const int64_t count = Min(kLanes, n - c);
    const Vec e = Exp(LoadRow(x + c, count, -__builtin_inff()) - Set(top));
    if (terms != nullptr) StorePartial(terms + c, e, count);
    sum += e;
  }
  return SumLanes(sum);
}

TENON_INLINE float LogOne(float x) { return Log(Set(x))[0]; }

}  // namespace
}  // namespace tenon::cpu::TENON_CPU_ISA
