// The image as convolutions by pooled columns read it: one input channel before a pool of 2 x 2, lanes are pooled columns.
// Included by files compiled per instruction set.
#pragma once

#include "plugins/device_cpu/compute/conv_image.h"
#include "plugins/device_cpu/compute/conv_lanes.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

TENON_INLINE bool PooledColumns(const ConvPoolShape& s) { return UsePooledColumns(s, kLanes); }

// [row of the padded image][vector of pooled columns][k <= kw][kLanes]: what the pooled columns p of the vector find at
// 2 * p + k; zero beyond the last of them and in the padding.
struct ColumnTable {
  int64_t columns, vectors;  // pooled
  int64_t vector, row;       // floats from one to the next
};
TENON_INLINE ColumnTable ColumnTableOf(const ConvPoolShape& s) {
  ColumnTable t;
  t.columns = s.PooledW();
  t.vectors = CeilDiv(t.columns, kLanes);
  t.vector = RoundUp(s.kw + 1, 2) * kLanes;
  t.row = t.vectors * t.vector;
  return t;
}

// Rows [rows.begin, rows.end) of the padded image to `out`. x: the first row of the image, its elements side by side.
TENON_INLINE void FillColumns(const ConvPoolShape& s, const ColumnTable& t, const float* x, int64_t x_row, Range rows,
                              float* out) {
  const int64_t above = Max(0, Min(rows.end, s.pad_top) - rows.begin);
  const int64_t inside = Max(0, Min(rows.end, s.pad_top + s.h) - rows.begin - above);
  for (int64_t i = 0; i < above * t.row; i += kLanes) Store(out + i, Zero());
  out += above * t.row;
  x += (rows.begin + above - s.pad_top) * x_row;
  for (int64_t v = 0; v < t.vectors; ++v)
    for (int64_t k = 0; k <= s.kw; k += 2) {
      const int64_t first = 2 * v * kLanes + k - s.pad_left;
      const Lanes low = LanesOf(-first, s.w - first), high = LanesOf(-first - kLanes, s.w - first - kLanes);
      const IVec whole = FirstLanes(t.columns - v * kLanes);
      const float* from = x + first;
      float* to = out + v * t.vector + k * kLanes;
      for (int64_t i = 0; i < inside; ++i, from += x_row, to += t.row) {
        Vec even, odd;
        Deinterleave(LoadLanes(from, low), LoadLanes(from + kLanes, high), even, odd);
        Store(to, KeepWhere(whole, even));
        Store(to + kLanes, KeepWhere(whole, odd));
      }
    }
  out += inside * t.row;
  for (int64_t i = 0; i < (rows.end - rows.begin - above - inside) * t.row; i += kLanes) Store(out + i, Zero());
}

// The image with its columns side by side: x itself, or a copy of h * w floats.
TENON_INLINE const float* SideBySide(const ConvPoolShape& s, const float* x, const Strides4& st, float* copy,
                                     int64_t& row) {
  row = st.h;
  if (st.w == 1) return x;
  row = s.w;
  for (int64_t h = 0; h < s.h; ++h)
    for (int64_t w = 0; w < s.w; ++w) copy[h * s.w + w] = x[h * st.h + w * st.w];
  return copy;
}

}  // namespace
}  // namespace tenon::cpu::TENON_CPU_ISA
