// What loops are written with: scalar functions that the compiler turns into vectors of the instruction set at hand.
// Included by files that are compiled with TENON_OPS_ISA, the namespace of that instruction set. Everything is inlined
// here and nothing of the C++ library is used, so that the linker cannot take code of one instruction set for another's.
#pragma once

#include "plugins/ops_custom/types.h"

#define TENON_INLINE inline __attribute__((always_inline))
#define TENON_PRAGMA(text) _Pragma(#text)
#define TENON_SIMD TENON_PRAGMA(omp simd)
#define TENON_SIMD_SUM(...) TENON_PRAGMA(omp simd reduction(+ : __VA_ARGS__))
#define TENON_SIMD_MAX(value) TENON_PRAGMA(omp simd reduction(max : value))

namespace tenon::ops::TENON_OPS_ISA {
namespace {

constexpr float kInfinity = __builtin_inff();
constexpr float kLog2 = 0.693147181f, kLog2E = 1.44269504f;  // log(2), 1 / log(2)

TENON_INLINE int64_t Min(int64_t a, int64_t b) { return a < b ? a : b; }
TENON_INLINE int64_t Max(int64_t a, int64_t b) { return a > b ? a : b; }
TENON_INLINE int32_t Bits(float x) { return __builtin_bit_cast(int32_t, x); }
TENON_INLINE float Float(int32_t bits) { return __builtin_bit_cast(float, bits); }

TENON_INLINE float Load(const float& x) { return x; }
TENON_INLINE float Load(const Bf16& x) { return Float(static_cast<int32_t>(static_cast<uint32_t>(x.bits) << 16)); }
TENON_INLINE void Store(float& to, float x) { to = x; }
// To nearest, ties to even; NaN stays.
TENON_INLINE void Store(Bf16& to, float x) {
  const uint32_t bits = __builtin_bit_cast(uint32_t, x);
  const uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  to.bits = static_cast<uint16_t>(x != x ? (bits >> 16) | 0x40u : rounded);
}

// The functions below are within 2 ulp; NaN stays NaN.

// exp(x) = 2^n exp(r) with n whole and |r| <= ln(2) / 2. The factor 2^n comes in two steps, so that denormals come out.
TENON_INLINE float Exp(float x) {
  constexpr float kRound = 12582912.0f;  // 1.5 * 2^23: adding it rounds to a whole number
  float c = x < -105.0f ? -105.0f : x;
  c = c > 89.0f ? 89.0f : c;
  const float shifted = c * 1.44269504f + kRound;
  const float n = shifted - kRound;
  float r = c - n * 0.693359375f;
  r = r + n * 2.12194440e-4f;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  const float y = p * (r * r) + r + 1.0f;
  const int32_t whole = Bits(shifted) - Bits(kRound), half = whole >> 1;
  return y * Float((half + 127) << 23) * Float((whole - half + 127) << 23);
}

// exp(x) where it cannot overflow, x <= 87: 0 below -87, so that one factor 2^n does.
TENON_INLINE float ExpOfModest(float x) {
  constexpr float kRound = 12582912.0f;
  const float c = x < -87.0f ? -87.0f : x;
  const float shifted = c * 1.44269504f + kRound;
  const float n = shifted - kRound;
  float r = c - n * 0.693359375f;
  r = r + n * 2.12194440e-4f;
  float p = 1.3814308589e-3f;
  p = p * r + 8.3688565412e-3f;
  p = p * r + 4.1668401626e-2f;
  p = p * r + 1.6666519479e-1f;
  p = p * r + 4.9999993370e-1f;
  const float y = p * (r * r) + r + 1.0f;
  return x < -87.0f ? 0.0f : y * Float((Bits(shifted) - Bits(kRound) + 127) << 23);
}

// log(x) = n log(2) + log(1 + m), sqrt(1/2) <= 1 + m < sqrt(2), for x > 0; -infinity for 0.
TENON_INLINE float Log(float x) {
  const bool small = x < 1.17549435e-38f;
  const float scaled = small ? x * 8388608.0f : x;
  const int32_t bits = Bits(scaled);
  int32_t n = ((bits >> 23) & 0xff) - 126 - (small ? 23 : 0);
  float m = Float((bits & 0x007fffff) | 0x3f000000);
  const bool low = m < 0.707106781f;
  n = low ? n - 1 : n;
  m = (low ? m + m : m) - 1.0f;
  const float z = m * m, whole = static_cast<float>(n);
  float p = 7.0376836292e-2f;
  p = p * m - 1.1514610310e-1f;
  p = p * m + 1.1676998740e-1f;
  p = p * m - 1.2420140846e-1f;
  p = p * m + 1.4249322787e-1f;
  p = p * m - 1.6668057665e-1f;
  p = p * m + 2.0000714765e-1f;
  p = p * m - 2.4999993993e-1f;
  p = p * m + 3.3333331174e-1f;
  const float y = m + (p * m * z - whole * 2.12194440e-4f - z * 0.5f) + whole * 0.693359375f;
  const float finite = x == 0.0f ? -kInfinity : y;
  return x == kInfinity || x != x ? x : finite;
}

// log(1 + e) for e in [0, 1]: 2 atanh(s), s = e / (2 + e) <= 1/3.
TENON_INLINE float Log1p(float e) {
  const float s = e / (2.0f + e), z = s * s;
  float p = 1.0f / 13;
  p = p * z + 1.0f / 11;
  p = p * z + 1.0f / 9;
  p = p * z + 1.0f / 7;
  p = p * z + 1.0f / 5;
  p = p * z + 1.0f / 3;
  p = p * z * s + s;
  return p + p;
}

TENON_INLINE float Sigmoid(float x) { return 1.0f / (1.0f + Exp(-x)); }

TENON_INLINE void Fill(float* x, int64_t count, float value) {
  TENON_SIMD for (int64_t i = 0; i < count; ++i) x[i] = value;
}

}  // namespace
}  // namespace tenon::ops::TENON_OPS_ISA
