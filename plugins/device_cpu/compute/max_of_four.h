// The heart of a 2 x 2 pool. Included by files compiled per instruction set.
#pragma once

#include "plugins/device_cpu/compute/vec.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

// A choice by lane that is taken many times.
#if TENON_CPU_LANES == 16 && defined(__AVX512F__)
typedef __mmask16 Choice;
TENON_INLINE Choice HasBit(IVec v, int32_t bit) {
  return _mm512_test_epi32_mask(reinterpret_cast<__m512i>(v), _mm512_set1_epi32(bit));
}
TENON_INLINE Choice Greater(Vec a, Vec b) {
  return _mm512_cmp_ps_mask(reinterpret_cast<__m512>(a), reinterpret_cast<__m512>(b), _CMP_GT_OQ);
}
TENON_INLINE Vec Choose(Choice choice, Vec yes, Vec no) {
  return reinterpret_cast<Vec>(
      _mm512_mask_blend_ps(choice, reinterpret_cast<__m512>(no), reinterpret_cast<__m512>(yes)));
}
#else
typedef IVec Choice;
TENON_INLINE Choice HasBit(IVec v, int32_t bit) { return (v & bit) != 0; }
TENON_INLINE Choice Greater(Vec a, Vec b) { return a > b; }
TENON_INLINE Vec Choose(Choice choice, Vec yes, Vec no) { return choice ? yes : no; }
#endif

// The first greatest of four, and where it is: to the right in the upper and in the lower row, and in which of them.
struct Winner {
  Vec best;
  Choice upper_right, lower_right, lower;
};

TENON_INLINE IVec NumberOf(const Winner& w) {
#if TENON_CPU_LANES == 16 && defined(__AVX512F__)
  const __m512i one = _mm512_set1_epi32(1), two = _mm512_set1_epi32(2);
  const __m512i below = _mm512_mask_mov_epi32(two, w.lower_right, _mm512_set1_epi32(3));
  return reinterpret_cast<IVec>(_mm512_mask_mov_epi32(_mm512_maskz_mov_epi32(w.upper_right, one), w.lower, below));
#else
  return w.lower ? SetI(2) - w.lower_right : -w.upper_right;  // a true mask is -1
#endif
}

// The numbers as bytes, in all lanes and in the first n.
TENON_INLINE void StoreNumbers(uint8_t* to, const Winner& w) {
#if TENON_CPU_LANES == 16 && defined(__AVX512BW__)
  const __m128i one = _mm_set1_epi8(1), two = _mm_set1_epi8(2);
  const __m128i lower = _mm_mask_mov_epi8(two, w.lower_right, _mm_set1_epi8(3));
  _mm_storeu_si128(reinterpret_cast<__m128i_u*>(to),
                   _mm_mask_mov_epi8(_mm_maskz_mov_epi8(w.upper_right, one), w.lower, lower));
#else
  StoreBytes(to, NumberOf(w));
#endif
}
TENON_INLINE void StoreNumbers(uint8_t* to, const Winner& w, int64_t n) {
  uint8_t bytes[kLanes];
  StoreNumbers(bytes, w);
  const uint8_t* from = bytes;
  for (int64_t piece = kLanes; piece > 0; piece /= 2) {
    if ((n & piece) == 0) continue;
    __builtin_memcpy(to, from, static_cast<unsigned long>(piece));
    to += piece, from += piece;
  }
}

TENON_INLINE void FirstGreatest(const Vec* values, Winner* winner) {
  Vec best = values[0];
  IVec where{};
  for (int i = 1; i < 4; ++i) {
    const IVec take = (values[i] > best) | ((values[i] != values[i]) & (best == best));
    best = take ? values[i] : best;
    where = take ? SetI(i) : where;
  }
  const Choice right = HasBit(where, 1);
  *winner = {best, right, right, HasBit(where, 2)};
}

// In scan order; NaN is above all.
TENON_INLINE Winner MaxOfFour(Vec v0, Vec v1, Vec v2, Vec v3) {
  const Vec sum = (v0 + v1) + (v2 + v3);  // NaN also of infinities, which the other way orders as well
#if TENON_CPU_LANES == 16 && defined(__AVX512F__)
  const bool has_nan =
      _mm512_cmp_ps_mask(reinterpret_cast<__m512>(sum), reinterpret_cast<__m512>(sum), _CMP_UNORD_Q) != 0;
#else
  const bool has_nan = Any(sum != sum);
#endif
  if (__builtin_expect(has_nan, 0)) {
    const Vec values[4] = {v0, v1, v2, v3};
    Winner winner;
    FirstGreatest(values, &winner);
    return winner;
  }
  const Choice upper_right = Greater(v1, v0), lower_right = Greater(v3, v2);
  const Vec upper = Choose(upper_right, v1, v0), under = Choose(lower_right, v3, v2);
  const Choice lower = Greater(under, upper);
  return {Choose(lower, under, upper), upper_right, lower_right, lower};
}

TENON_INLINE void MaxOfFour(Vec v0, Vec v1, Vec v2, Vec v3, Vec& best, IVec& where) {
  const Winner winner = MaxOfFour(v0, v1, v2, v3);
  best = winner.best;
  where = NumberOf(winner);
}

}  // namespace
}  // namespace tenon::cpu::TENON_CPU_ISA
