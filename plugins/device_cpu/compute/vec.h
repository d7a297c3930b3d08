// Vectors of kLanes floats for routines that are compiled once per instruction set. Included only by files compiled
// with TENON_CPU_ISA (the namespace) and TENON_CPU_LANES (4, 8 or 16) defined. Everything here is inlined, so that no
// code for one instruction set can be merged by the linker with that for another.
#pragma once

#include <cstdint>
#include <limits>

#include "plugins/device_cpu/compute/bf16.h"
#include "plugins/device_cpu/compute/parallel.h"

#if defined(__AVX2__)
#include <immintrin.h>
#elif defined(__SSE2__)
#include <emmintrin.h>
#endif

#if !defined(TENON_CPU_ISA) || !defined(TENON_CPU_LANES)
#error "compile this file through tenon_cpu_isa() of plugins/device_cpu/CMakeLists.txt"
#endif

#define TENON_INLINE inline __attribute__((always_inline))
#define TENON_UNROLL _Pragma("GCC unroll 32")

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

constexpr int kLanes = TENON_CPU_LANES;
// Accumulators that fit in the register file beside two operands.
constexpr int kAccumulators = kLanes == 16 ? 24 : 12;

typedef float Vec __attribute__((vector_size(kLanes * 4)));
typedef int32_t IVec __attribute__((vector_size(kLanes * 4)));
typedef uint32_t UVec __attribute__((vector_size(kLanes * 4)));
typedef uint8_t BVec __attribute__((vector_size(kLanes)));
typedef float VecAny __attribute__((vector_size(kLanes * 4), aligned(4), may_alias));
typedef int32_t IVecAny __attribute__((vector_size(kLanes * 4), aligned(1), may_alias));
typedef uint8_t BVecAny __attribute__((vector_size(kLanes), aligned(1), may_alias));

TENON_INLINE int64_t Min(int64_t a, int64_t b) { return a < b ? a : b; }
TENON_INLINE int64_t Max(int64_t a, int64_t b) { return a > b ? a : b; }
TENON_INLINE int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }
TENON_INLINE int64_t RoundUp(int64_t a, int64_t b) { return CeilDiv(a, b) * b; }

TENON_INLINE Vec Load(const float* p) { return *reinterpret_cast<const VecAny*>(p); }
TENON_INLINE void Store(float* p, Vec v) { *reinterpret_cast<VecAny*>(p) = v; }
TENON_INLINE Vec Zero() { return Vec{}; }
TENON_INLINE Vec Set(float x) { return x - Vec{}; }  // exact for every x; -0 stays -0
TENON_INLINE IVec SetI(int32_t x) { return x + IVec{}; }
TENON_INLINE IVec Bits(Vec v) { return reinterpret_cast<IVec>(v); }
TENON_INLINE Vec Floats(IVec v) { return reinterpret_cast<Vec>(v); }

// NaN in x stays NaN in both.
TENON_INLINE Vec Relu(Vec x) { return Zero() > x ? Zero() : x; }
TENON_INLINE Vec KeepWhere(IVec mask, Vec x) { return Floats(mask & Bits(x)); }

// The first n (1 to kLanes) floats; the other lanes are zero.
TENON_INLINE Vec LoadPartial(const float* p, int64_t n) {
  if (n >= kLanes) return Load(p);
#if TENON_CPU_LANES == 16 && defined(__AVX512F__)
  return reinterpret_cast<Vec>(_mm512_maskz_loadu_ps(static_cast<__mmask16>((1u << n) - 1), p));
#elif TENON_CPU_LANES == 8 && defined(__AVX2__)
  alignas(32) static const int32_t kMask[16] = {-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0};
  return reinterpret_cast<Vec>(
      _mm256_maskload_ps(p, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(kMask + 8 - n))));
#else
  alignas(64) float buffer[kLanes] = {};
  for (int64_t i = 0; i < n; ++i) buffer[i] = p[i];
  return Load(buffer);
#endif
}

TENON_INLINE void StorePartial(float* p, Vec v, int64_t n) {
  if (n >= kLanes) return Store(p, v);
#if TENON_CPU_LANES == 16 && defined(__AVX512F__)
  _mm512_mask_storeu_ps(p, static_cast<__mmask16>((1u << n) - 1), reinterpret_cast<__m512>(v));
#else
  alignas(64) float buffer[kLanes];
  Store(buffer, v);
  const float* from = buffer;
  for (int64_t piece = kLanes / 2; piece > 0; piece /= 2) {
    if ((n & piece) == 0) continue;
    __builtin_memcpy(p, from, static_cast<unsigned long>(piece) * sizeof(float));
    p += piece;
    from += piece;
  }
#endif
}

// bf16 in memory, float in a vector: routines over both are templates of the element type. Stores round to nearest even;
// infinities and NaN stay.
TENON_INLINE float ToFloat(float x) { return x; }
TENON_INLINE float ToFloat(Bf16 x) { return __builtin_bit_cast(float, static_cast<uint32_t>(x.bits) << 16); }

TENON_INLINE Vec Load(const Bf16* p) {
#if TENON_CPU_LANES == 16 && defined(__AVX512F__)
  const __m512i wide = _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i_u*>(p)));
  return reinterpret_cast<Vec>(_mm512_slli_epi32(wide, 16));
#elif TENON_CPU_LANES == 8 && defined(__AVX2__)
  const __m256i wide = _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i_u*>(p)));
  return reinterpret_cast<Vec>(_mm256_slli_epi32(wide, 16));
#elif TENON_CPU_LANES == 4 && defined(__SSE2__)
  const __m128i half = _mm_loadl_epi64(reinterpret_cast<const __m128i_u*>(p));
  return reinterpret_cast<Vec>(_mm_unpacklo_epi16(_mm_setzero_si128(), half));
#else
  Vec v;
  TENON_UNROLL for (int i = 0; i < kLanes; ++i) v[i] = ToFloat(p[i]);
  return v;
#endif
}

TENON_INLINE Vec LoadPartial(const Bf16* p, int64_t n) {
  if (n >= kLanes) return Load(p);
#if TENON_CPU_LANES == 16 && defined(__AVX512F__)
  const __m512i wide = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(static_cast<__mmask16>((1u << n) - 1), p));
  return reinterpret_cast<Vec>(_mm512_slli_epi32(wide, 16));
#else
  alignas(64) Bf16 buffer[kLanes] = {};
  for (int64_t i = 0; i < n; ++i) buffer[i] = p[i];
  return Load(buffer);
#endif
}

// Lanes as signed numbers of 16 bits, those of the rounded floats.
TENON_INLINE IVec RoundToBf16(Vec v) {
  const IVec bits = Bits(v);
  const UVec up = reinterpret_cast<UVec>(bits) + (reinterpret_cast<UVec>(bits >> 16 & 1) + 0x7fffu);
  const IVec rounded = reinterpret_cast<IVec>(up) >> 16, quiet = bits >> 16 | 0x40;
  return v != v ? quiet : rounded;
}

TENON_INLINE void Store(Bf16* p, Vec v) {
#if TENON_CPU_LANES == 16 && defined(__AVX512BF16__)
  _mm256_storeu_si256(reinterpret_cast<__m256i_u*>(p),
                      reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(reinterpret_cast<__m512>(v))));
#elif TENON_CPU_LANES == 16 && defined(__AVX512F__)
  _mm256_storeu_si256(reinterpret_cast<__m256i_u*>(p),
                      _mm512_cvtepi32_epi16(reinterpret_cast<__m512i>(RoundToBf16(v))));
#elif TENON_CPU_LANES == 8 && defined(__AVX2__)
  const __m256i lanes = reinterpret_cast<__m256i>(RoundToBf16(v));
  _mm_storeu_si128(reinterpret_cast<__m128i_u*>(p),
                   _mm_packs_epi32(_mm256_castsi256_si128(lanes), _mm256_extracti128_si256(lanes, 1)));
#elif TENON_CPU_LANES == 4 && defined(__SSE2__)
  const __m128i lanes = reinterpret_cast<__m128i>(RoundToBf16(v));
  _mm_storel_epi64(reinterpret_cast<__m128i_u*>(p), _mm_packs_epi32(lanes, lanes));
#else
  const IVec lanes = RoundToBf16(v);
  TENON_UNROLL for (int i = 0; i < kLanes; ++i) p[i].bits = static_cast<uint16_t>(lanes[i]);
#endif
}

TENON_INLINE void StorePartial(Bf16* p, Vec v, int64_t n) {
  if (n >= kLanes) return Store(p, v);
  alignas(64) Bf16 buffer[kLanes];
  Store(buffer, v);
#if TENON_CPU_LANES == 16 && defined(__AVX512F__)
  _mm256_mask_storeu_epi16(p, static_cast<__mmask16>((1u << n) - 1),
                           _mm256_load_si256(reinterpret_cast<const __m256i*>(buffer)));
#else
  for (int64_t i = 0; i < n; ++i) p[i] = buffer[i];
#endif
}

// Lanes of 0 to 255 as bytes, and back. (The compiler takes a conversion of vectors apart.)
TENON_INLINE void StoreBytes(uint8_t* p, IVec v) {
#if TENON_CPU_LANES == 8 && defined(__AVX2__)
  const __m256i all = reinterpret_cast<__m256i>(v);
  const __m128i words = _mm_packs_epi32(_mm256_castsi256_si128(all), _mm256_extracti128_si256(all, 1));
  _mm_storel_epi64(reinterpret_cast<__m128i_u*>(p), _mm_packus_epi16(words, words));
#elif TENON_CPU_LANES == 4 && defined(__SSE2__)
  const __m128i words = _mm_packs_epi32(reinterpret_cast<__m128i>(v), reinterpret_cast<__m128i>(v));
  const int32_t bytes = _mm_cvtsi128_si32(_mm_packus_epi16(words, words));
  __builtin_memcpy(p, &bytes, sizeof bytes);
#elif TENON_CPU_LANES == 16 && defined(__AVX512F__)
  _mm_storeu_si128(reinterpret_cast<__m128i_u*>(p), _mm512_cvtepi32_epi8(reinterpret_cast<__m512i>(v)));
#else
  *reinterpret_cast<BVecAny*>(p) = __builtin_convertvector(v, BVec);
#endif
}
TENON_INLINE IVec LoadBytes(const uint8_t* p) {
#if TENON_CPU_LANES == 8 && defined(__AVX2__)
  return reinterpret_cast<IVec>(_mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i_u*>(p))));
#elif TENON_CPU_LANES == 16 && defined(__AVX512F__)
  return reinterpret_cast<IVec>(_mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i_u*>(p))));
#else
  return __builtin_convertvector(*reinterpret_cast<const BVecAny*>(p), IVec);
#endif
}

// Is a mask set in any lane?
TENON_INLINE bool Any(IVec mask) {
#if TENON_CPU_LANES == 8 && defined(__AVX2__)
  return _mm256_movemask_ps(reinterpret_cast<__m256>(mask)) != 0;
#elif TENON_CPU_LANES == 4 && defined(__SSE2__)
  return _mm_movemask_ps(reinterpret_cast<__m128>(mask)) != 0;
#elif TENON_CPU_LANES == 16 && defined(__AVX512F__)
  return _mm512_cmpneq_epi32_mask(reinterpret_cast<__m512i>(mask), _mm512_setzero_si512()) != 0;
#else
  int32_t all = 0;
  for (int i = 0; i < kLanes; ++i) all |= mask[i];
  return all != 0;
#endif
}

// Sum of the lanes, always in the same order: halves, quarters, ...
TENON_INLINE float SumLanes(Vec v) {
  alignas(64) float x[kLanes];
  Store(x, v);
  TENON_UNROLL for (int half = kLanes / 2; half > 0; half /= 2) TENON_UNROLL for (int i = 0; i < half; ++i) x[i] +=
      x[i + half];
  return x[0];
}
// The largest; NaN where there is one.
TENON_INLINE float MaxLanes(Vec v) {
  alignas(64) float x[kLanes];
  Store(x, v);
  TENON_UNROLL for (int half = kLanes / 2; half > 0; half /= 2) TENON_UNROLL for (int i = 0; i < half; ++i) x[i] =
      x[i + half] > x[i] || x[i + half] != x[i + half] ? x[i + half] : x[i];
  return x[0];
}

// In place: lane j of v[i] goes to lane i of v[j].
TENON_INLINE void Transpose(Vec (&v)[kLanes]) {
#if TENON_CPU_LANES == 4
  const Vec a = __builtin_shufflevector(v[0], v[1], 0, 4, 1, 5), b = __builtin_shufflevector(v[2], v[3], 0, 4, 1, 5);
  const Vec c = __builtin_shufflevector(v[0], v[1], 2, 6, 3, 7), d = __builtin_shufflevector(v[2], v[3], 2, 6, 3, 7);
  v[0] = __builtin_shufflevector(a, b, 0, 1, 4, 5), v[1] = __builtin_shufflevector(a, b, 2, 3, 6, 7);
  v[2] = __builtin_shufflevector(c, d, 0, 1, 4, 5), v[3] = __builtin_shufflevector(c, d, 2, 3, 6, 7);
#elif TENON_CPU_LANES == 8
  Vec t[8], u[8];
  TENON_UNROLL for (int i = 0; i < 8; i += 2) {
    t[i] = __builtin_shufflevector(v[i], v[i + 1], 0, 8, 1, 9, 4, 12, 5, 13);
    t[i + 1] = __builtin_shufflevector(v[i], v[i + 1], 2, 10, 3, 11, 6, 14, 7, 15);
  }
  TENON_UNROLL for (int i = 0; i < 8; i += 4) {
    TENON_UNROLL for (int j = 0; j < 2; ++j) {
      u[i + 2 * j] = __builtin_shufflevector(t[i + j], t[i + j + 2], 0, 1, 8, 9, 4, 5, 12, 13);
      u[i + 2 * j + 1] = __builtin_shufflevector(t[i + j], t[i + j + 2], 2, 3, 10, 11, 6, 7, 14, 15);
    }
  }
  TENON_UNROLL for (int i = 0; i < 4; ++i) {
    v[i] = __builtin_shufflevector(u[i], u[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
    v[i + 4] = __builtin_shufflevector(u[i], u[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
  }
#else
  // Exchange blocks of 8, 4, 2, 1 rows and lanes.
#define TENON_EXCHANGE(step)                                        \
  TENON_UNROLL for (int i = 0; i < 16; ++i) {                       \
    if ((i & step) != 0) continue;                                  \
    const Vec a = v[i], b = v[i + step];                            \
    v[i] = __builtin_shufflevector(a, b, TENON_LOW_##step);         \
    v[i + step] = __builtin_shufflevector(a, b, TENON_HIGH_##step); \
  }
#define TENON_LOW_8 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23
#define TENON_HIGH_8 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31
#define TENON_LOW_4 0, 1, 2, 3, 16, 17, 18, 19, 8, 9, 10, 11, 24, 25, 26, 27
#define TENON_HIGH_4 4, 5, 6, 7, 20, 21, 22, 23, 12, 13, 14, 15, 28, 29, 30, 31
#define TENON_LOW_2 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29
#define TENON_HIGH_2 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31
#define TENON_LOW_1 0, 16, 2, 18, 4, 20, 6, 22, 8, 24, 10, 26, 12, 28, 14, 30
#define TENON_HIGH_1 1, 17, 3, 19, 5, 21, 7, 23, 9, 25, 11, 27, 13, 29, 15, 31
  TENON_EXCHANGE(8)
  TENON_EXCHANGE(4)
  TENON_EXCHANGE(2)
  TENON_EXCHANGE(1)
#endif
}

// Elements 0, 2, 4, ... and 1, 3, 5, ... of two neighbouring vectors.
TENON_INLINE void Deinterleave(Vec a, Vec b, Vec& even, Vec& odd) {
#if TENON_CPU_LANES == 4
  even = __builtin_shufflevector(a, b, 0, 2, 4, 6);
  odd = __builtin_shufflevector(a, b, 1, 3, 5, 7);
#elif TENON_CPU_LANES == 8
  even = __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14);
  odd = __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15);
#else
  even = __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
  odd = __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
#endif
}

// Calls f(i) for i in [0, count) on the pool.
template <class F>
TENON_INLINE void ForEach(const Parallel& pool, int64_t count, const F& f) {
  if (count <= 1 || pool.run == nullptr) {
    for (int64_t i = 0; i < count; ++i) f(i);
    return;
  }
  pool.run(
      pool.context, count, [](void* user, int64_t i) { (*static_cast<const F*>(user))(i); },
      const_cast<void*>(static_cast<const void*>(&f)));
}

// How many pieces to cut work of so many nanoseconds (a guess) and so many units into.
TENON_INLINE int64_t Pieces(const Parallel& pool, int64_t units, double nanoseconds) {
  constexpr double kWorthAThread = 15000;
  const int64_t by_time = static_cast<int64_t>(nanoseconds / kWorthAThread);
  return Max(1, Min(Min(pool.threads, units), by_time));
}

struct Range {
  int64_t begin, end;
};
// Piece i of [0, count) cut into `pieces` nearly equal parts, each but the last a multiple of `grain`.
TENON_INLINE Range Piece(int64_t count, int64_t pieces, int64_t i, int64_t grain = 1) {
  const int64_t grains = CeilDiv(count, grain);
  return {Min(count, grains * i / pieces * grain), Min(count, grains * (i + 1) / pieces * grain)};
}

}  // namespace
}  // namespace tenon::cpu::TENON_CPU_ISA
