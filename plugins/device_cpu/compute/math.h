// Elementary functions on vectors, about 2 ulp. NaN stays NaN everywhere. Included by files compiled per instruction set.
#pragma once

#include "plugins/device_cpu/compute/vec.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

TENON_INLINE Vec Select(IVec mask, Vec yes, Vec no) { return mask ? yes : no; }
TENON_INLINE Vec Abs(Vec x) { return Floats(Bits(x) & SetI(0x7fffffff)); }
TENON_INLINE Vec CopySign(Vec size, Vec sign) {
  return Floats((Bits(size) & SetI(0x7fffffff)) | (Bits(sign) & static_cast<int32_t>(0x80000000u)));
}

TENON_INLINE Vec Sqrt(Vec x) {
#if TENON_CPU_LANES == 16 && defined(__AVX512F__)
  return reinterpret_cast<Vec>(_mm512_sqrt_ps(reinterpret_cast<__m512>(x)));
#elif TENON_CPU_LANES == 8 && defined(__AVX2__)
  return reinterpret_cast<Vec>(_mm256_sqrt_ps(reinterpret_cast<__m256>(x)));
#elif TENON_CPU_LANES == 4 && defined(__SSE2__)
  return reinterpret_cast<Vec>(_mm_sqrt_ps(reinterpret_cast<__m128>(x)));
#else
  TENON_UNROLL for (int i = 0; i < kLanes; ++i) x[i] = __builtin_sqrtf(x[i]);
  return x;
#endif
}

// 2^n for whole n in [-126, 127]; 0 for -127.
TENON_INLINE Vec PowerOfTwo(IVec n) { return Floats((n + 127) << 23); }

// x = n ln(2) + r with n whole and |r| <= ln(2) / 2.
struct Reduced {
  Vec r;
  IVec n;
};
TENON_INLINE Reduced ReduceForExp(Vec x) {
  const Vec magic = Set(12582912.0f);  // 1.5 * 2^23: adding it rounds to a whole number
  const Vec shifted = x * Set(1.44269504f) + magic;
  const Vec n = shifted - magic;
  Vec r = x - n * Set(0.693359375f);
  r = r - n * Set(-2.12194440e-4f);
  return {r, Bits(shifted) - Bits(magic)};
}

// exp(r) - 1 for |r| <= ln(2) / 2: r + r^2 p(r), a least-maximum fit of exp's relative error (3e-9).
TENON_INLINE Vec Expm1OfReduced(Vec r) {
  Vec p = Set(1.3814308589e-3f);
  p = p * r + Set(8.3688565412e-3f);
  p = p * r + Set(4.1668401626e-2f);
  p = p * r + Set(1.6666519479e-1f);
  p = p * r + Set(4.9999993370e-1f);
  return p * (r * r) + r;
}

// Bounds that let NaN through; one instruction each.
TENON_INLINE Vec AtLeast(Vec x, float bound) { return Set(bound) > x ? Set(bound) : x; }
TENON_INLINE Vec AtMost(Vec x, float bound) { return Set(bound) < x ? Set(bound) : x; }

TENON_INLINE Vec Exp(Vec x) {
  const Reduced e = ReduceForExp(AtMost(AtLeast(x, -104.0f), 89.0f));
  const IVec half = e.n >> 1;  // in two steps, so that results below 2^-126 come out as denormals
  return (Expm1OfReduced(e.r) + Set(1.0f)) * PowerOfTwo(half) * PowerOfTwo(e.n - half);
}

// For x <= 0: results below 2^-126 come out as 0, which saves a third of Exp.
TENON_INLINE Vec ExpOfNegative(Vec x) {
  const Reduced e = ReduceForExp(AtLeast(x, -88.0f));  // -88 is nearest to 2^-127, whose bits here are those of 0
  return (Expm1OfReduced(e.r) + Set(1.0f)) * PowerOfTwo(e.n);
}

// exp(x) - 1 for x <= 0, to full relative precision near 0: 2^n (exp(r) - 1) + (2^n - 1).
TENON_INLINE Vec Expm1OfNegative(Vec x) {
  const Reduced e = ReduceForExp(AtLeast(x, -30.0f));
  const Vec scale = PowerOfTwo(e.n);
  return Expm1OfReduced(e.r) * scale + (scale - Set(1.0f));
}

// log(x): x = m 2^e with m in [sqrt(1/2), sqrt(2)), then a polynomial in m - 1 (the classic Cephes coefficients).
TENON_INLINE Vec Log(Vec x) {
  const IVec small = x < Set(1.17549435e-38f);
  const Vec scaled = Select(small, x * Set(8388608.0f), x);
  IVec e = ((Bits(scaled) >> 23) & SetI(0xff)) - 126;
  e = e - (small & SetI(23));
  Vec m = Floats((Bits(scaled) & SetI(0x007fffff)) | SetI(0x3f000000));  // [0.5, 1)
  const IVec low = m < Set(0.707106781f);
  e = e + low;  // low is -1 where true
  m = Select(low, m + m, m) - Set(1.0f);
  const Vec n = __builtin_convertvector(e, Vec);
  const Vec z = m * m;
  Vec p = Set(7.0376836292e-2f);
  p = p * m + Set(-1.1514610310e-1f);
  p = p * m + Set(1.1676998740e-1f);
  p = p * m + Set(-1.2420140846e-1f);
  p = p * m + Set(1.4249322787e-1f);
  p = p * m + Set(-1.6668057665e-1f);
  p = p * m + Set(2.0000714765e-1f);
  p = p * m + Set(-2.4999993993e-1f);
  p = p * m + Set(3.3333331174e-1f);
  Vec y = p * m * z + n * Set(-2.12194440e-4f) - z * Set(0.5f);
  y = m + y + n * Set(0.693359375f);
  const float infinity = __builtin_inff();
  y = Select(x == Set(infinity), Set(infinity), y);
  y = Select(x == Zero(), Set(-infinity), y);
  y = Select(x < Zero(), Set(__builtin_nanf("")), y);
  return Select(x != x, x, y);
}

TENON_INLINE Vec Tanh(Vec x) {
  const Vec size = Abs(x);
  const Vec z = x * x;
  Vec p = Set(-5.70498872745e-3f);
  p = p * z + Set(2.06390887954e-2f);
  p = p * z + Set(-5.37397155531e-2f);
  p = p * z + Set(1.33314422036e-1f);
  p = p * z + Set(-3.33332819422e-1f);
  const Vec near_zero = p * z * x + x;
  const Vec far = Set(1.0f) - Set(2.0f) / (Exp(size + size) + Set(1.0f));
  const Vec y = Select(size < Set(0.625f), near_zero, CopySign(far, x));
  return Select(x != x, x, y);
}

// 1 / (1 + exp(-x)). exp needs no denormal here: below 2^-126 it does not count beside 1. Below -88 the
// result is no normal number and given as 0; 2^n must not become infinite, since infinity - infinity is NaN.
TENON_INLINE Vec Sigmoid(Vec x) {
  const Reduced e = ReduceForExp(AtMost(AtLeast(-x, -87.0f), 88.0f));
  const Vec scale = PowerOfTwo(e.n);
  const Vec y = Set(1.0f) / ((scale + Set(1.0f)) + Expm1OfReduced(e.r) * scale);
  return Select(x < Set(-88.0f), Zero(), y);
}

// log(1 + exp(x)) = max(x, 0) + log1p(e), e = exp(-|x|); log1p(e) = 2 atanh(s) with s = e / (2 + e) <= 1/3.
TENON_INLINE Vec Softplus(Vec x) {
  const Vec e = Exp(-Abs(x));
  const Vec s = e / (Set(2.0f) + e);
  const Vec z = s * s;
  Vec p = Set(1.0f / 13);
  p = p * z + Set(1.0f / 11);
  p = p * z + Set(1.0f / 9);
  p = p * z + Set(1.0f / 7);
  p = p * z + Set(1.0f / 5);
  p = p * z + Set(1.0f / 3);
  p = p * z * s + s;
  return Relu(x) + (p + p);
}

// The nearest whole number, halves to even; the sign of x stays.
TENON_INLINE Vec Round(Vec x) {
  const Vec whole = Set(8388608.0f), size = Abs(x);  // 2^23: from there on all are whole
  return Select(size < whole, CopySign((size + whole) - whole, x), x);
}
TENON_INLINE Vec Floor(Vec x) {
  const Vec near = Round(x);
  return Select(near > x, near - Set(1.0f), near);
}
TENON_INLINE Vec Ceil(Vec x) {
  const Vec near = Round(x);
  return Select(near < x, CopySign(near + Set(1.0f), x), near);
}

// sin(x + quarters * pi / 2). x = n pi / 2 + r with |r| <= pi / 4, then the polynomial of sine or cosine (Cephes).
TENON_INLINE Vec SinOf(Vec x, int32_t quarters) {
  const Vec n = Round(x * Set(0.636619772f));
  Vec r = x - n * Set(1.5703125f);
  r = r - n * Set(4.837512969970703125e-4f);
  r = r - n * Set(7.54978995489188216e-8f);
  const Vec z = r * r;
  const Vec sine = ((Set(-1.9515295891e-4f) * z + Set(8.3321608736e-3f)) * z + Set(-1.6666654611e-1f)) * z * r + r;
  const Vec cosine =
      ((Set(2.443315711809948e-5f) * z + Set(-1.388731625493765e-3f)) * z + Set(4.166664568298827e-2f)) * (z * z) +
      (Set(1.0f) - Set(0.5f) * z);
  const IVec quarter = __builtin_convertvector(n, IVec) + quarters;
  const Vec size = Select((quarter & 1) != 0, cosine, sine);
  return Floats(Bits(size) ^ ((quarter & 2) << 30));
}
// Beyond 8192 n pi / 2 needs more digits than the steps above have.
TENON_INLINE bool AnyIsLarge(Vec x) { return Any(~(Abs(x) < Set(8192.0f))); }
TENON_INLINE Vec Sin(Vec x) {
  Vec y = Select(x == Zero(), x, SinOf(x, 0));  // the sign of 0 stays
  if (__builtin_expect(AnyIsLarge(x), 0)) {
    for (int i = 0; i < kLanes; ++i) y[i] = __builtin_sinf(x[i]);
  }
  return y;
}
TENON_INLINE Vec Cos(Vec x) {
  Vec y = SinOf(x, 1);
  if (__builtin_expect(AnyIsLarge(x), 0)) {
    for (int i = 0; i < kLanes; ++i) y[i] = __builtin_cosf(x[i]);
  }
  return y;
}

// erf(x) = x P(x^2) / Q(x^2), a least-maximum fit of its relative error (2e-8) on [0, 3.95], from where it is 1.
TENON_INLINE Vec Erf(Vec x) {
  const Vec c = AtMost(AtLeast(x, -3.95f), 3.95f);
  const Vec z = c * c;
  Vec p = Set(2.025827229e-6f), q = Set(3.783047186e-5f);
  p = p * z + Set(2.846785605e-4f), q = q * z + Set(1.170690415e-3f);
  p = p * z + Set(3.808073865e-3f), q = q * z + Set(1.505493046e-2f);
  p = p * z + Set(5.287518046e-2f), q = q * z + Set(1.145590741e-1f);
  p = p * z + Set(1.915492691e-1f), q = q * z + Set(5.030887973e-1f);
  p = p * z + Set(1.128379144f), q = q * z + Set(1.0f);
  const Vec y = c * p / q;
  return Select(Abs(y) > Set(1.0f), CopySign(Set(1.0f), x), y);
}

}  // namespace
}  // namespace tenon::cpu::TENON_CPU_ISA
