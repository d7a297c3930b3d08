#include "plugins/device_cpu/compute/reorder.h"

#include "plugins/device_cpu/compute/isa_functions.h"
#include "plugins/device_cpu/compute/vec.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

// Rows [rows.begin, rows.end) of one matrix.
void TransposeRows(const TransposeArgs& a, int64_t batch, Range rows) {
  const float* x = a.x + batch * a.rows * a.columns;
  float* y = a.y + batch * a.rows * a.columns;
  int64_t r = rows.begin;
  for (; r + kLanes <= rows.end; r += kLanes) {
    int64_t c = 0;
    for (; c + kLanes <= a.columns; c += kLanes) {
      Vec t[kLanes];
      TENON_UNROLL for (int i = 0; i < kLanes; ++i) t[i] = Load(x + (r + i) * a.columns + c);
      Transpose(t);
      TENON_UNROLL for (int i = 0; i < kLanes; ++i) Store(y + (c + i) * a.rows + r, t[i]);
    }
    for (; c < a.columns; ++c)
      for (int64_t i = 0; i < kLanes; ++i) y[c * a.rows + r + i] = x[(r + i) * a.columns + c];
  }
  for (; r < rows.end; ++r)
    for (int64_t c = 0; c < a.columns; ++c) y[c * a.rows + r] = x[r * a.columns + c];
}

}  // namespace

void TransposeMatrices(const TransposeArgs& a, const Parallel& pool) {
  const int64_t blocks = CeilDiv(a.rows, 4 * kLanes), units = a.batch * blocks;
  const int64_t pieces = Pieces(pool, units, 0.5 * static_cast<double>(a.batch * a.rows * a.columns));
  ForEach(pool, pieces, [&](int64_t i) {
    const Range r = Piece(units, pieces, i);
    for (int64_t u = r.begin; u < r.end; ++u) {
      const int64_t first = u % blocks * 4 * kLanes;
      TransposeRows(a, u / blocks, {first, Min(a.rows, first + 4 * kLanes)});
    }
  });
}

}  // namespace tenon::cpu::TENON_CPU_ISA
