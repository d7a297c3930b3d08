// Products of small packed matrices, for routines that keep their operands in the caches. Included by files compiled per
// instruction set.
#pragma once

#include "plugins/device_cpu/compute/vec.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

constexpr int64_t kProductRows = kLanes == 16 ? 8 : 4;

template <int R, int V, bool kAdd>
TENON_INLINE void ProductTile(int64_t k, const float* a, int64_t am, int64_t ak, const float* b, int64_t ldb, float* c,
                              int64_t ldc) {
  Vec acc[R][V];
  TENON_UNROLL for (int i = 0; i < R; ++i) TENON_UNROLL for (int j = 0; j < V; ++j) acc[i][j] =
      kAdd ? Load(c + i * ldc + j * kLanes) : Zero();
  for (int64_t p = 0; p < k; ++p) {
    Vec bv[V];
    TENON_UNROLL for (int j = 0; j < V; ++j) bv[j] = Load(b + j * kLanes);
    TENON_UNROLL for (int i = 0; i < R; ++i) {
      const Vec av = Set(a[i * am]);
      TENON_UNROLL for (int j = 0; j < V; ++j) acc[i][j] += av * bv[j];
    }
    a += ak;
    b += ldb;
  }
  TENON_UNROLL for (int i = 0; i < R; ++i) TENON_UNROLL for (int j = 0; j < V; ++j)
      Store(c + i * ldc + j * kLanes, acc[i][j]);
}

// C[rows][lanes] = A[rows][k] B[k][lanes], added to C with kAdd. rows is a multiple of kProductRows, lanes one of kLanes;
// element (i, p) of A lies at a[i * am + p * ak], rows of B and C are contiguous.
template <bool kAdd>
void Product(int64_t rows, int64_t lanes, int64_t k, const float* a, int64_t am, int64_t ak, const float* b,
             int64_t ldb, float* c, int64_t ldc) {
  for (int64_t l = 0; l < lanes; l += 2 * kLanes) {
    const bool wide = lanes - l >= 2 * kLanes;
    for (int64_t i = 0; i < rows; i += kProductRows) {
      const float* from = a + i * am;
      float* to = c + i * ldc + l;
      if (wide)
        ProductTile<kProductRows, 2, kAdd>(k, from, am, ak, b + l, ldb, to, ldc);
      else
        ProductTile<kProductRows, 1, kAdd>(k, from, am, ak, b + l, ldb, to, ldc);
    }
  }
}

// rows x columns of `from` (stride ld) to `to` [padded_rows][padded_columns], zero beyond.
TENON_INLINE void PackMatrix(const float* from, int64_t ld, int64_t rows, int64_t columns, float* to,
                             int64_t padded_rows, int64_t padded_columns) {
  for (int64_t i = 0; i < padded_rows; ++i, to += padded_columns) {
    for (int64_t c = 0; c < padded_columns; c += kLanes) {
      const int64_t left = i < rows ? columns - c : 0;
      Store(to + c, left > 0 ? LoadPartial(from + i * ld + c, Min(left, kLanes)) : Zero());
    }
  }
}

// The same transposed: `to` [columns][padded_rows], zero beyond the rows; padded_rows is a multiple of kLanes.
TENON_INLINE void PackTransposed(const float* from, int64_t ld, int64_t rows, int64_t columns, float* to,
                                 int64_t padded_rows) {
  for (int64_t i = 0; i < padded_rows; i += kLanes) {
    for (int64_t c = 0; c < columns; c += kLanes) {
      const int64_t count = Min(kLanes, columns - c);
      Vec t[kLanes];
      TENON_UNROLL for (int r = 0; r < kLanes; ++r) t[r] =
          i + r < rows ? LoadPartial(from + (i + r) * ld + c, count) : Zero();
      Transpose(t);
      for (int64_t x = 0; x < count; ++x) Store(to + (c + x) * padded_rows + i, t[x]);
    }
  }
}

}  // namespace
}  // namespace tenon::cpu::TENON_CPU_ISA
