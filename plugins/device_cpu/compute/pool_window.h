// What pools of every layout share. Included by files compiled per instruction set.
#pragma once

#include "plugins/device_cpu/compute/pool.h"
#include "plugins/device_cpu/compute/vec.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

// Positions [begin, end) of a window of `kernel` that lie within [0, size) where position 0 is at `first`.
TENON_INLINE Range ClipAxis(int64_t first, int64_t dilation, int64_t kernel, int64_t size) {
  // No division where it can be avoided: this runs for every output.
  const int64_t begin = first >= 0 ? 0 : dilation == 1 ? -first : CeilDiv(-first, dilation);
  const int64_t end = first >= size ? 0 : dilation == 1 ? size - first : CeilDiv(size - first, dilation);
  return {Min(begin, kernel), Max(Min(begin, kernel), Min(end, kernel))};
}
TENON_INLINE int64_t Length(Range r) { return r.end - r.begin; }

TENON_INLINE double PoolNanoseconds(const PoolShape& s) {
  return 0.5 * static_cast<double>(s.n * s.c * s.out_d * s.out_h * s.out_w) *
         static_cast<double>(s.kernel_d * s.kernel_h * s.kernel_w);
}

}  // namespace
}  // namespace tenon::cpu::TENON_CPU_ISA
