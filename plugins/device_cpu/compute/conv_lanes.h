// What convolutions by pooled columns ask of vectors beyond vec.h.
// Included by files compiled per instruction set.
#pragma once

#include "plugins/device_cpu/compute/vec.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

TENON_INLINE IVec LaneNumbers() {
  IVec lane;
  TENON_UNROLL for (int i = 0; i < kLanes; ++i) lane[i] = i;
  return lane;
}

// The first n lanes, as a mask.
TENON_INLINE IVec FirstLanes(int64_t n) { return LaneNumbers() < SetI(static_cast<int32_t>(Min(n, kLanes))); }

// Bytes of the first n (1 to kLanes) lanes; the other lanes are zero.
TENON_INLINE IVec LoadBytes(const uint8_t* p, int64_t n) {
  if (n >= kLanes) return LoadBytes(p);
#if TENON_CPU_LANES == 16 && defined(__AVX512BW__)
  return reinterpret_cast<IVec>(_mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(static_cast<__mmask16>((1u << n) - 1), p)));
#else
  uint8_t bytes[kLanes] = {};
  for (int64_t i = 0; i < n; ++i) bytes[i] = p[i];
  return LoadBytes(bytes);
#endif
}

// Lanes [begin, end) of those at p, whatever they are; the others are zero and not read.
#if TENON_CPU_LANES == 16 && defined(__AVX512F__)
typedef __mmask16 Lanes;
TENON_INLINE Lanes LanesOf(int64_t begin, int64_t end) {
  const auto below = [](int64_t n) { return n <= 0 ? 0u : n >= kLanes ? 0xffffu : (1u << n) - 1; };
  return static_cast<Lanes>(below(end) & ~below(begin));
}
TENON_INLINE Vec LoadLanes(const float* p, Lanes lanes) {
  return reinterpret_cast<Vec>(_mm512_maskz_loadu_ps(lanes, p));
}
#else
struct Lanes {
  int64_t begin, end;
};
TENON_INLINE Lanes LanesOf(int64_t begin, int64_t end) { return {Max(begin, 0), Min(end, kLanes)}; }
TENON_INLINE Vec LoadLanes(const float* p, Lanes lanes) {
  alignas(64) float buffer[kLanes] = {};
  for (int64_t i = lanes.begin; i < lanes.end; ++i) buffer[i] = p[i];
  return Load(buffer);
}
#endif

constexpr int kHalf = kLanes / 2;

TENON_INLINE Vec LoadHalves(const float* low, const float* high) {
#if TENON_CPU_LANES == 16 && defined(__AVX512DQ__)
  return reinterpret_cast<Vec>(
      _mm512_insertf32x8(_mm512_castps256_ps512(_mm256_loadu_ps(low)), _mm256_loadu_ps(high), 1));
#else
  Vec v;
  TENON_UNROLL for (int i = 0; i < kHalf; ++i) v[i] = low[i], v[kHalf + i] = high[i];
  return v;
#endif
}
TENON_INLINE void StoreLowHalf(float* p, Vec v) {
#if TENON_CPU_LANES == 16 && defined(__AVX512F__)
  _mm256_storeu_ps(p, _mm512_castps512_ps256(reinterpret_cast<__m512>(v)));
#else
  StorePartial(p, v, kHalf);
#endif
}
TENON_INLINE void StoreHighHalf(float* p, Vec v) {
#if TENON_CPU_LANES == 16 && defined(__AVX512DQ__)
  _mm256_storeu_ps(p, _mm512_extractf32x8_ps(reinterpret_cast<__m512>(v), 1));
#else
  TENON_UNROLL for (int i = 0; i < kHalf; ++i) p[i] = v[kHalf + i];
#endif
}

// In place, in both halves of the lanes: lane j of v[i] goes to lane i of v[j].
TENON_INLINE void TransposeHalves(Vec (&v)[kHalf]) {
#if TENON_CPU_LANES == 16
#define TENON_EXCHANGE_HALVES(step)                                 \
  TENON_UNROLL for (int i = 0; i < kHalf; ++i) {                    \
    if ((i & step) != 0) continue;                                  \
    const Vec a = v[i], b = v[i + step];                            \
    v[i] = __builtin_shufflevector(a, b, TENON_LOW_##step);         \
    v[i + step] = __builtin_shufflevector(a, b, TENON_HIGH_##step); \
  }
  TENON_EXCHANGE_HALVES(4)
  TENON_EXCHANGE_HALVES(2)
  TENON_EXCHANGE_HALVES(1)
#else
  Vec t[kHalf];
  TENON_UNROLL for (int i = 0; i < kHalf; ++i) TENON_UNROLL for (int j = 0; j < kLanes; ++j) t[i][j] =
      v[j % kHalf][j / kHalf * kHalf + i];
  TENON_UNROLL for (int i = 0; i < kHalf; ++i) v[i] = t[i];
#endif
}

}  // namespace
}  // namespace tenon::cpu::TENON_CPU_ISA
