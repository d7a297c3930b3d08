// Products of small packed matrices, for routines that keep their operands in the caches. Included by files compiled per
// instruction set.
#pragma once

#include "plugins/device_cpu/compute/pairs.h"
#include "plugins/device_cpu/compute/vec.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

constexpr int64_t kProductRows = kLanes == 16 ? 8 : 4;

template <int R, int V, bool kAdd, class E>
TENON_INLINE void ProductTile(int64_t k, const E* a, int64_t am, int64_t ak, const E* b, int64_t ldb, float* c,
                              int64_t ldc) {
  Vec acc[R][V];
  TENON_UNROLL for (int i = 0; i < R; ++i) TENON_UNROLL for (int j = 0; j < V; ++j) acc[i][j] =
      kAdd ? Load(c + i * ldc + j * kLanes) : Zero();
  for (int64_t p = 0; p < k; ++p) {
    Vec bv[V];
    TENON_UNROLL for (int j = 0; j < V; ++j) bv[j] = Load(b + j * kLanes);
    TENON_UNROLL for (int i = 0; i < R; ++i) {
      const E av = a[i * am];
      TENON_UNROLL for (int j = 0; j < V; ++j) acc[i][j] = AddProduct(acc[i][j], av, bv[j]);
    }
    a += ak;
    b += ldb;
  }
  TENON_UNROLL for (int i = 0; i < R; ++i) TENON_UNROLL for (int j = 0; j < V; ++j)
      Store(c + i * ldc + j * kLanes, acc[i][j]);
}

// C[rows][lanes] = A[rows][k] B[k][lanes], added to C with kAdd; k counts elements of E. rows is a multiple of kProductRows,
// lanes one of kLanes; element (i, p) of A lies at a[i * am + p * ak], rows of B and C are contiguous.
template <bool kAdd, class E>
void Product(int64_t rows, int64_t lanes, int64_t k, const E* a, int64_t am, int64_t ak, const E* b, int64_t ldb,
             float* c, int64_t ldc) {
  for (int64_t l = 0; l < lanes; l += 2 * kLanes) {
    const bool wide = lanes - l >= 2 * kLanes;
    for (int64_t i = 0; i < rows; i += kProductRows) {
      const E* from = a + i * am;
      float* to = c + i * ldc + l;
      if (wide)
        ProductTile<kProductRows, 2, kAdd>(k, from, am, ak, b + l, ldb, to, ldc);
      else
        ProductTile<kProductRows, 1, kAdd>(k, from, am, ak, b + l, ldb, to, ldc);
    }
  }
}

// ---- packing; the elements of a row that follow `columns`, and rows that follow `rows`, count as zero

// Elements of E from `count` (1 or more) values of a row on, as a vector.
template <class T>
TENON_INLINE Vec LoadElements(const T* from, int64_t count, const float*) {
  return LoadPartial(from, Min(count, kLanes));
}
// Element i of two rows as a pair.
template <class T>
TENON_INLINE Vec LoadAcross(const T* from, int64_t, bool, int64_t count, const float*) {
  return LoadPartial(from, count);
}
#if defined(__AVX512BF16__)
TENON_INLINE Vec LoadElements(const Bf16* from, int64_t count, const Pair*) {
  const __mmask32 mask = count >= 2 * kLanes ? ~__mmask32{0} : (__mmask32{1} << count) - 1;
  return reinterpret_cast<Vec>(_mm512_maskz_loadu_epi16(mask, from));
}
TENON_INLINE Vec LoadAcross(const Bf16* from, int64_t ld, bool has_next, int64_t count, const Pair*) {
  return PairUp(LoadPartial(from, count), has_next ? LoadPartial(from + ld, count) : Zero());
}
#endif

// rows x columns of `from` (stride ld) row by row: `to` [padded_rows][width], `width` in elements of E.
template <class T, class E>
TENON_INLINE void PackMatrix(const T* from, int64_t ld, int64_t rows, int64_t columns, E* to, int64_t padded_rows,
                             int64_t width) {
  for (int64_t i = 0; i < padded_rows; ++i, to += width) {
    for (int64_t c = 0; c < width; c += kLanes) {
      const int64_t left = i < rows ? columns - c * kPack<E> : 0;
      Store(to + c, left > 0 ? LoadElements(from + i * ld + c * kPack<E>, left, to) : Zero());
    }
  }
}

// The same with elements across rows: `to` [padded_rows / kPack][padded_columns].
template <class T, class E>
TENON_INLINE void PackAcross(const T* from, int64_t ld, int64_t rows, int64_t columns, E* to, int64_t padded_rows,
                             int64_t padded_columns) {
  for (int64_t i = 0; i < padded_rows; i += kPack<E>, to += padded_columns) {
    for (int64_t c = 0; c < padded_columns; c += kLanes) {
      const int64_t left = i < rows ? columns - c : 0;
      const T* at = from + i * ld + c;
      Store(to + c, left > 0 ? LoadAcross(at, ld, i + 1 < rows, Min(left, kLanes), to) : Zero());
    }
  }
}

// The same transposed: `to` [columns / kPack][padded_rows]; padded_rows is a multiple of kLanes.
template <class T, class E>
TENON_INLINE void PackTransposed(const T* from, int64_t ld, int64_t rows, int64_t columns, E* to, int64_t padded_rows) {
  const int64_t width = CeilDiv(columns, kPack<E>);
  for (int64_t i = 0; i < padded_rows; i += kLanes) {
    for (int64_t c = 0; c < width; c += kLanes) {
      Vec t[kLanes];
      TENON_UNROLL for (int r = 0; r < kLanes; ++r) t[r] =
          i + r < rows ? LoadElements(from + (i + r) * ld + c * kPack<E>, columns - c * kPack<E>, to) : Zero();
      Transpose(t);
      for (int64_t x = 0; x < Min(kLanes, width - c); ++x) Store(to + (c + x) * padded_rows + i, t[x]);
    }
  }
}

}  // namespace
}  // namespace tenon::cpu::TENON_CPU_ISA
