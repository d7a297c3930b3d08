// Vectors of the instruction set at hand, for loops that must keep them in registers or need its own instructions.
#pragma once

#include <utility>

#include "plugins/ops_custom/loops.h"
#ifdef __AVX512F__
#include <immintrin.h>
#endif

#define TENON_UNROLL _Pragma("GCC unroll 16")

namespace tenon::ops::TENON_OPS_ISA {
namespace {

#if defined(__AVX512F__)
constexpr int kLanes = 16;
#elif defined(__AVX2__)
constexpr int kLanes = 8;
#else
constexpr int kLanes = 4;
#endif

typedef float Vec __attribute__((vector_size(kLanes * 4)));
typedef float VecAny __attribute__((vector_size(kLanes * 4), aligned(4), may_alias));
typedef int32_t IntVec __attribute__((vector_size(kLanes * 4)));

// The vector that begins at p, to read or to write.
TENON_INLINE VecAny& At(float* p) { return *reinterpret_cast<VecAny*>(p); }
TENON_INLINE const VecAny& At(const float* p) { return *reinterpret_cast<const VecAny*>(p); }

TENON_INLINE Vec Larger(Vec a, Vec b) { return a > b ? a : b; }

// Exchanges, between two rows, the lanes that are kStep apart.
template <int kStep, int... kLane>
TENON_INLINE void Exchange(Vec& row, Vec& other, std::integer_sequence<int, kLane...>) {
  const Vec a = row, b = other;
  row = __builtin_shufflevector(a, b, ((kLane & kStep) == 0 ? kLane : kLanes + kLane - kStep)...);
  other = __builtin_shufflevector(a, b, ((kLane & kStep) == 0 ? kLane + kStep : kLanes + kLane)...);
}
// The same between all rows that are kStep apart.
template <int kStep>
TENON_INLINE void Exchange(Vec (&rows)[kLanes]) {
  TENON_UNROLL for (int i = 0; i < kLanes; ++i) {
    if ((i & kStep) == 0) Exchange<kStep>(rows[i], rows[i + kStep], std::make_integer_sequence<int, kLanes>());
  }
}
// In place: lane j of row i goes to lane i of row j.
TENON_INLINE void Transpose(Vec (&rows)[kLanes]) {
  if constexpr (kLanes > 8) Exchange<8>(rows);
  if constexpr (kLanes > 4) Exchange<4>(rows);
  Exchange<2>(rows);
  Exchange<1>(rows);
}

// 2^x for x < 128, within 2 ulp; 0 for -infinity, NaN stays. x = n + r with n whole and |r| <= 1/2, of which 2^r is a
// least-maximum fit.
TENON_INLINE Vec Exp2(Vec x) {
#ifdef __AVX512F__
  constexpr __mmask16 kAllLanes = 0xffff;
  const Vec n = _mm512_maskz_roundscale_ps(kAllLanes, x, _MM_FROUND_TO_NEAREST_INT);
  const Vec r = x - n;
#else
  constexpr float kRound = 12582912.0f;  // 1.5 * 2^23: adding it rounds to a whole number
  const Vec c = x < -127.0f ? Vec{} - 127.0f : x;
  const Vec shifted = c + kRound, r = c - (shifted - kRound);
#endif
  Vec p = Vec{} + 1.3225707226e-3f;
  p = p * r + 9.6717625856e-3f;
  p = p * r + 5.5508915335e-2f;
  p = p * r + 2.4022236466e-1f;
  p = p * r + 6.9314682484e-1f;
  p = p * r + 1.0f;
#ifdef __AVX512F__
  return _mm512_maskz_scalef_ps(kAllLanes, p, n);  // 0 where n is -infinity, though p is NaN there
#else
  return p * reinterpret_cast<Vec>((reinterpret_cast<IntVec>(shifted) << 23) + (127 << 23));
#endif
}

}  // namespace
}  // namespace tenon::ops::TENON_OPS_ISA
