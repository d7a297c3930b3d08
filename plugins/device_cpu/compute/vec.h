// Vectors of kLanes floats for routines that are compiled once per instruction set. Included only by files compiled
// with TENON_CPU_ISA (the namespace) and TENON_CPU_LANES (4, 8 or 16) defined. Everything here is inlined, so that no
// code for one instruction set can be merged by the linker with that for another.
#pragma once

#include <cstdint>
#include <limits>

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
typedef uint8_t BVec __attribute__((vector_size(kLanes)));
typedef float VecAny __attribute__((vector_size(kLanes * 4), aligned(4), may_alias));
typedef int32_t IVecAny __attribute__((vector_size(kLanes * 4), aligned(4), may_alias));
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

// Sum of the lanes, always in the same order: halves, quarters, ...
TENON_INLINE float SumLanes(Vec v) {
  alignas(64) float x[kLanes];
  Store(x, v);
  TENON_UNROLL for (int half = kLanes / 2; half > 0; half /= 2)
    TENON_UNROLL for (int i = 0; i < half; ++i) x[i] += x[i + half];
  return x[0];
}

// In place: lane j of v[i] goes to lane i of v[j].
TENON_INLINE void Transpose(Vec (&v)[kLanes]) {
  TENON_UNROLL for (int step = kLanes / 2; step > 0; step /= 2) {
    IVec low, high;
    TENON_UNROLL for (int j = 0; j < kLanes; ++j) {
      low[j] = (j & step) != 0 ? kLanes + j - step : j;
      high[j] = (j & step) != 0 ? kLanes + j : j + step;
    }
    TENON_UNROLL for (int i = 0; i < kLanes; ++i) {
      if ((i & step) != 0) continue;
      const Vec a = v[i], b = v[i + step];
      v[i] = __builtin_shuffle(a, b, low);
      v[i + step] = __builtin_shuffle(a, b, high);
    }
  }
}

// Calls f(i) for i in [0, count) on the pool.
template <class F>
TENON_INLINE void ForEach(const Parallel& pool, int64_t count, const F& f) {
  if (count <= 1 || pool.run == nullptr) {
    for (int64_t i = 0; i < count; ++i) f(i);
    return;
  }
  pool.run(pool.context, count, [](void* user, int64_t i) { (*static_cast<const F*>(user))(i); },
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
