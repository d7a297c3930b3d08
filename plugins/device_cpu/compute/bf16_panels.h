// Operands of products of bf16 as pairs of neighbouring k: elements of bf16 have one part, f32 is split into two of bf16. The
// column operand is packed into panels of pairs [k / 2][part][column]. For processors with AVX-512 BF16.
#pragma once

#include "plugins/device_cpu/compute/gemm_bf16.h"
#include "plugins/device_cpu/compute/isa_functions.h"
#include "plugins/device_cpu/compute/math.h"
#include "plugins/device_cpu/compute/vec.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

constexpr int kTileColumns = 2 * kLanes;
constexpr int64_t kPairsAtOnce = 8;  // of neighbouring rows, packed before the next ones are touched
using Pair = uint32_t;               // elements k and k + 1

// Args is GemmBf16Args or GemmArgs.
template <class Args>
constexpr int kParts = 1;
template <>
constexpr int kParts<GemmArgs> = 2;

TENON_INLINE __mmask16 FirstLanes(int64_t count) {
  return static_cast<__mmask16>(count >= kLanes ? 0xffff : (1u << count) - 1);
}
// 16 pairs of neighbours.
TENON_INLINE Vec LoadPairs(const uint16_t* p) { return reinterpret_cast<Vec>(_mm512_loadu_si512(p)); }
TENON_INLINE Vec LoadPairs(const float* p) {
  return reinterpret_cast<Vec>(_mm512_cvtne2ps_pbh(_mm512_loadu_ps(p + kLanes), _mm512_loadu_ps(p)));
}

// sum + low * low + high * high, lane by lane; a is the same pair in all lanes.
TENON_INLINE Vec PairProduct(Vec sum, Pair a, Vec b) {
  return reinterpret_cast<Vec>(_mm512_dpbf16_ps(reinterpret_cast<__m512>(sum),
                                                reinterpret_cast<__m512bh>(_mm512_set1_epi32(static_cast<int>(a))),
                                                reinterpret_cast<__m512bh>(b)));
}

// The bits of up to 16 elements, a part at a time, each in the low half of its lane.
struct Bits16 {
  __m512i part[2];
};
template <int P>
TENON_INLINE Bits16 PartsOf(const uint16_t* p, int64_t count) {
  return {{_mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(FirstLanes(count), p)), _mm512_setzero_si512()}};
}
TENON_INLINE __m512i NearestBf16(__m512 x) {
  return _mm512_cvtepu16_epi32(reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(x)));
}
// The nearest bf16, and with two parts the nearest to what that leaves. Those of a finite number are finite; NaN and infinity leave nothing.
template <int P>
TENON_INLINE Bits16 PartsOf(Vec v) {
  if constexpr (P == 1) return {{NearestBf16(reinterpret_cast<__m512>(v)), _mm512_setzero_si512()}};
  constexpr int kNaNOrInfinity = 0x99;
  const __m512 x = reinterpret_cast<__m512>(v), most = _mm512_castsi512_ps(_mm512_set1_epi32(0x7f7f0000));
  const __mmask16 finite = static_cast<__mmask16>(~_mm512_fpclass_ps_mask(x, kNaNOrInfinity));
  const __m512 bounded =
      _mm512_mask_max_ps(x, finite, _mm512_min_ps(x, most), _mm512_sub_ps(_mm512_setzero_ps(), most));
  const __m512i high = NearestBf16(bounded);
  return {{high, NearestBf16(_mm512_maskz_sub_ps(finite, x, _mm512_castsi512_ps(_mm512_slli_epi32(high, 16))))}};
}
template <int P>
TENON_INLINE Bits16 PartsOf(const float* p, int64_t count) {
  return PartsOf<P>(LoadPartial(p, count));
}
TENON_INLINE Bits16 NoParts() { return {{_mm512_setzero_si512(), _mm512_setzero_si512()}}; }

// 32 numbers of a row that will be packed next time; processors do not foresee steps from row to row.
TENON_INLINE void PrefetchRow(const uint16_t* at) { __builtin_prefetch(at, 0, 2); }
TENON_INLINE void PrefetchRow(const float* at) {
  __builtin_prefetch(at, 0, 2);
  __builtin_prefetch(at + 16, 0, 2);
}
template <class T>
TENON_INLINE void PrefetchPair(const T* at, int64_t row_step) {
  PrefetchRow(at);
  PrefetchRow(at + row_step);
}

// Pairs of the elements whose parts are `low` and `high`; those of part i go to `to + i * step`.
template <int P>
TENON_INLINE void StorePairs(const Bits16& low, const Bits16& high, Pair* to, int64_t step, int64_t count = kLanes) {
  TENON_UNROLL for (int i = 0; i < P; ++i) _mm512_mask_storeu_epi32(
      to + i * step, FirstLanes(count), _mm512_or_si512(low.part[i], _mm512_slli_epi32(high.part[i], 16)));
}

// Columns j of pairs [0, pairs) whose elements are neighbours in memory: a transpose. The vectors of pair p go to
// `to + p * step`, those of its parts `width` apart. Returns how many pairs it did; the rest does not fill a vector.
template <int P, class T>
TENON_INLINE int64_t PackNeighbours(const T* from, int64_t column_step, int64_t count, int64_t pairs, Pair* to,
                                    int64_t step, int64_t width) {
  constexpr int kPairs = kLanes / P;  // of each column at a time
  int64_t p = 0;
  for (; p + kPairs <= pairs; p += kPairs) {
    Vec t[kLanes];
    if constexpr (P == 1) {
      if constexpr (sizeof(T) == 4) {  // the next columns
        TENON_UNROLL for (int j = 0; j < kLanes; ++j) PrefetchRow(from + (j + kLanes) * column_step + 2 * p);
      }
      TENON_UNROLL for (int j = 0; j < kLanes; ++j) t[j] =
          j < count ? LoadPairs(from + j * column_step + 2 * p) : Zero();
      Transpose(t);
      TENON_UNROLL for (int j = 0; j < kPairs; ++j) Store(reinterpret_cast<float*>(to + (p + j) * step), t[j]);
    } else {
      TENON_UNROLL for (int j = 0; j < kLanes; ++j) t[j] = j < count ? Load(from + j * column_step + 2 * p) : Zero();
      Transpose(t);
      TENON_UNROLL for (int j = 0; j < kPairs; ++j)
          StorePairs<P>(PartsOf<P>(t[2 * j]), PartsOf<P>(t[2 * j + 1]), to + (p + j) * step, width);
    }
  }
  return p;
}

// Columns of the matrix of pairs p of B whose first element is at `at`, `count` of them, as `width` pairs of each part.
template <int P, class T>
TENON_INLINE void PackPair(const T* at, int64_t row_step, int64_t column_step, bool has_next, int64_t count,
                           int64_t width, Pair* to) {
  for (int64_t v = 0; v < width; v += kLanes, at += kLanes * column_step, to += kLanes) {
    const int64_t some = Max(0, Min(kLanes, count - v));
    if (column_step == 1) {
      StorePairs<P>(PartsOf<P>(at, some), has_next ? PartsOf<P>(at + row_step, some) : NoParts(), to, width);
      continue;
    }
    T low[kLanes] = {}, high[kLanes] = {};
    for (int64_t j = 0; j < some; ++j) {
      low[j] = at[j * column_step];
      if (has_next) high[j] = at[j * column_step + row_step];
    }
    StorePairs<P>(PartsOf<P>(low, kLanes), PartsOf<P>(high, kLanes), to, width);
  }
}
// The same for a whole panel of neighbouring columns of bf16, whose second row is `next`.
template <class T>
TENON_INLINE void PackWholePair(const T* at, const T* next, Pair* to) {
  alignas(64) static constexpr uint16_t kLow[32] = {0, 32, 1, 33, 2,  34, 3,  35, 4,  36, 5,  37, 6,  38, 7,  39,
                                                    8, 40, 9, 41, 10, 42, 11, 43, 12, 44, 13, 45, 14, 46, 15, 47};
  const __m512i first = reinterpret_cast<__m512i>(LoadPairs(at)), second = reinterpret_cast<__m512i>(LoadPairs(next));
  const __m512i low = _mm512_load_si512(kLow), high = _mm512_add_epi16(low, _mm512_set1_epi16(16));
  _mm512_storeu_si512(to, _mm512_permutex2var_epi16(first, low, second));
  _mm512_storeu_si512(to + kLanes, _mm512_permutex2var_epi16(first, high, second));
}

// Columns [column0, column0 + columns) of B, pairs [pair0, pair0 + pairs), as panels of kTileColumns (the last one
// kLanes wide if that is enough). Panel p begins at out + p * kTileColumns * panel_pairs * parts; what it has room for beyond
// `pairs` is left alone. Rows of B that are neighbours in memory are read a few at a time along all panels.
template <class Args, class T>
void PackColumns(const Args& g, const T* b, int64_t pair0, int64_t pairs, int64_t panel_pairs, int64_t column0,
                 int64_t columns, Pair* out) {
  constexpr int P = kParts<Args>;
  const int64_t whole = Min(pairs, g.k / 2 - pair0), step = g.b_col == 1 ? kPairsAtOnce : pairs;
  for (int64_t p0 = 0; p0 < pairs; p0 += step)
    for (int64_t c = 0; c < columns; c += kTileColumns) {
      const int64_t width = columns - c > kLanes ? kTileColumns : kLanes, count = Min(width, columns - c);
      const T* from = b + pair0 * 2 * g.b_row + (column0 + c) * g.b_col;
      Pair* to = out + c * panel_pairs * P;
      int64_t p = p0;
      if (g.b_row == 1 && p0 == 0 && step == pairs) {
        for (int64_t v = 0; v < width; v += kLanes)
          p = PackNeighbours<P>(from + v * g.b_col, g.b_col, Max(0, Min(kLanes, count - v)), whole, to + v, width * P,
                                width);
      }
      for (; p < Min(pairs, p0 + step); ++p) {
        const T* at = from + 2 * p * g.b_row;
        const bool has_next = 2 * (pair0 + p) + 1 < g.k;
        if constexpr (P == 1) {
          if (has_next && g.b_col == 1 && count == kTileColumns) {
            PrefetchPair(at + 2 * kPairsAtOnce * g.b_row, g.b_row);
            PackWholePair(at, at + g.b_row, to + p * kTileColumns);
            continue;
          }
        }
        PackPair<P>(at, g.b_row, g.b_col, has_next, count, width, to + p * width * P);
      }
    }
}

TENON_INLINE void PackColumnsOf(const GemmBf16Args& g, int64_t pair0, int64_t pairs, int64_t panel_pairs,
                                int64_t column0, int64_t columns, Pair* out) {
  if (g.wide_b != nullptr) return PackColumns(g, g.wide_b, pair0, pairs, panel_pairs, column0, columns, out);
  PackColumns(g, g.b, pair0, pairs, panel_pairs, column0, columns, out);
}
TENON_INLINE void PackColumnsOf(const GemmArgs& g, int64_t pair0, int64_t pairs, int64_t panel_pairs, int64_t column0,
                                int64_t columns, Pair* out) {
  PackColumns(g, g.b, pair0, pairs, panel_pairs, column0, columns, out);
}

}  // namespace
}  // namespace tenon::cpu::TENON_CPU_ISA
