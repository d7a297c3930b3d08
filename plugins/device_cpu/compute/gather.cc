#include "plugins/device_cpu/compute/gather.h"

#include "plugins/device_cpu/compute/isa_functions.h"
#include "plugins/device_cpu/compute/math.h"
#include "plugins/device_cpu/compute/vec.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

TENON_INLINE void CopyRow(const float* from, float* to, int64_t width) {
  for (int64_t c = 0; c < width; c += kLanes) {
    const int64_t count = Min(kLanes, width - c);
    StorePartial(to + c, LoadPartial(from + c, count), count);
  }
}

}  // namespace

void Gather(const GatherArgs& a, const Parallel& pool) {
  const int64_t pieces = Pieces(pool, a.count, 0.2 * static_cast<double>(a.count * a.width));
  ForEach(pool, pieces, [&](int64_t p) {
    const Range part = Piece(a.count, pieces, p);
    for (int64_t i = part.begin; i < part.end; ++i) CopyRow(a.table + a.index[i] * a.width, a.y + i * a.width, a.width);
  });
}

// Pieces are columns: every row of the table is summed by one thread in the order of the indices.
void GatherGrad(const GatherGradArgs& a, const Parallel& pool) {
  const int64_t pieces =
      Pieces(pool, CeilDiv(a.width, kLanes), 0.3 * static_cast<double>((a.count + a.rows) * a.width));
  ForEach(pool, pieces, [&](int64_t p) {
    const Range part = Piece(a.width, pieces, p, kLanes);
    const int64_t width = part.end - part.begin;
    for (int64_t r = 0; r < a.rows; ++r)
      for (int64_t c = 0; c < width; c += kLanes)
        StorePartial(a.d_table + r * a.width + part.begin + c, Zero(), Min(kLanes, width - c));
    for (int64_t i = 0; i < a.count; ++i) {
      const float* dy = a.dy + i * a.width + part.begin;
      float* to = a.d_table + a.index[i] * a.width + part.begin;
      for (int64_t c = 0; c < width; c += kLanes) {
        const int64_t count = Min(kLanes, width - c);
        StorePartial(to + c, LoadPartial(to + c, count) + LoadPartial(dy + c, count), count);
      }
    }
  });
}

void CopyRows(const CopyRowsArgs& a, const Parallel& pool) {
  const int64_t pieces = Pieces(pool, a.rows, 0.05 * static_cast<double>(a.rows * a.width));
  ForEach(pool, pieces, [&](int64_t p) {
    const Range part = Piece(a.rows, pieces, p);
    for (int64_t r = part.begin; r < part.end; ++r)
      __builtin_memcpy(a.to + r * a.to_row, a.from + r * a.from_row, static_cast<unsigned long>(a.width));
  });
}

}  // namespace tenon::cpu::TENON_CPU_ISA
