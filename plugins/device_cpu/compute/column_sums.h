// Sums over the rows of a matrix, taken in parts of rows so that they have the same bits for any number of threads. Included
// by files compiled per instruction set.
#pragma once

#include "plugins/device_cpu/compute/vec.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

constexpr int64_t kRowsOfAPart = 128;
TENON_INLINE int64_t PartsOf(int64_t rows) { return CeilDiv(rows, kRowsOfAPart); }
TENON_INLINE Range RowsOfPart(int64_t rows, int64_t part) {
  return {part * kRowsOfAPart, Min(rows, (part + 1) * kRowsOfAPart)};
}

TENON_INLINE void ClearSums(float* sums, int64_t columns) {
  for (int64_t c = 0; c < columns; c += kLanes) StorePartial(sums + c, Zero(), Min(kLanes, columns - c));
}
TENON_INLINE void AddTo(float* sum, Vec v, int64_t count) { StorePartial(sum, LoadPartial(sum, count) + v, count); }

// out[c] = sum of parts[p * stride + c] over the parts, in order.
template <class T>
TENON_INLINE void SumParts(const float* parts, int64_t count, int64_t stride, int64_t columns, T* out) {
  for (int64_t c = 0; c < columns; c += kLanes) {
    const int64_t lanes = Min(kLanes, columns - c);
    Vec sum = Zero();
    for (int64_t p = 0; p < count; ++p) sum += LoadPartial(parts + p * stride + c, lanes);
    StorePartial(out + c, sum, lanes);
  }
}

}  // namespace
}  // namespace tenon::cpu::TENON_CPU_ISA
