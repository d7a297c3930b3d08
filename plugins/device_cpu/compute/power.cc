#include "plugins/device_cpu/compute/power.h"

#include "plugins/device_cpu/compute/broadcast_rows.h"
#include "plugins/device_cpu/compute/isa_functions.h"
#include "plugins/device_cpu/compute/math.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

// Logarithm and product are taken in double: an exponent of up to 150 leaves no digit of float to lose.
constexpr int kHalf = kLanes / 2;
typedef float HalfVec __attribute__((vector_size(kHalf * 4)));
typedef double DVec __attribute__((vector_size(kHalf * 8)));
typedef uint64_t LVec __attribute__((vector_size(kHalf * 8)));
struct Halves {
  HalfVec part[2];
};
TENON_INLINE DVec SetD(double x) { return x - DVec{}; }
TENON_INLINE LVec BitsD(DVec x) { return reinterpret_cast<LVec>(x); }
TENON_INLINE DVec Doubles(LVec x) { return reinterpret_cast<DVec>(x); }

// log2 of a positive number that is normal as a double: m 2^e, then 2 atanh((m - 1) / (m + 1)) / ln(2). 0 gives -1e300,
// infinity 1e300: times any exponent the limit is right.
TENON_INLINE DVec Log2(DVec x) {
  const LVec bits = BitsD(x);
  const DVec fraction = Doubles((bits & 0x000fffffffffffffu) | 0x3ff0000000000000u);
  const auto high = fraction > SetD(1.4142135623730951);
  const DVec m = high ? fraction * SetD(0.5) : fraction;
  // The exponent as a double: the low bits of 2^52.
  const DVec biased = Doubles((bits >> 52) | 0x4330000000000000u) - SetD(4503599627370496.0);
  const DVec e = biased - (high ? SetD(1022.0) : SetD(1023.0));
  const DVec s = (m - SetD(1.0)) / (m + SetD(1.0)), z = s * s;
  DVec p = SetD(1.0 / 13);
  p = p * z + SetD(1.0 / 11);
  p = p * z + SetD(1.0 / 9);
  p = p * z + SetD(1.0 / 7);
  p = p * z + SetD(1.0 / 5);
  p = p * z + SetD(1.0 / 3);
  const DVec log = (p * z * s + s) * SetD(2.8853900817779268) + e;
  const DVec zero_or_log = x == SetD(0.0) ? SetD(-1e300) : log;
  return x == SetD(__builtin_inf()) ? SetD(1e300) : zero_or_log;
}

// 2^t; beyond +-200, where floats end, as there.
TENON_INLINE DVec Exp2(DVec t) {
  t = SetD(-200.0) > t ? SetD(-200.0) : t;
  t = SetD(200.0) < t ? SetD(200.0) : t;
  const DVec magic = SetD(6755399441055744.0);  // 1.5 * 2^52: adding it rounds to a whole number
  const DVec shifted = t + magic;
  const DVec u = (t - (shifted - magic)) * SetD(0.6931471805599453);
  DVec p = SetD(1.0 / 5040);
  p = p * u + SetD(1.0 / 720);
  p = p * u + SetD(1.0 / 120);
  p = p * u + SetD(1.0 / 24);
  p = p * u + SetD(1.0 / 6);
  p = p * u + SetD(0.5);
  p = p * u + SetD(1.0);
  p = p * u + SetD(1.0);
  const LVec n = BitsD(shifted) - BitsD(magic);
  return p * Doubles((n + 1023u) << 52);
}

// |x|^y but for |x| = 1 and NaN.
TENON_INLINE Vec PowerOfSize(Vec size, Vec y) {
  const Halves sizes = __builtin_bit_cast(Halves, size), exponents = __builtin_bit_cast(Halves, y);
  Halves result;
  for (int i = 0; i < 2; ++i) {
    const DVec t =
        __builtin_convertvector(exponents.part[i], DVec) * Log2(__builtin_convertvector(sizes.part[i], DVec));
    result.part[i] = __builtin_convertvector(Exp2(t), HalfVec);
  }
  return __builtin_bit_cast(Vec, result);
}

TENON_INLINE Vec Pow(Vec x, Vec y) {
  const Vec size = Abs(x);
  Vec power = Select(size == Set(1.0f), Set(1.0f), PowerOfSize(size, y));
  // Whole exponents from 2^24 on, infinity among them, are even.
  const Vec bounded = AtMost(AtLeast(y, -16777216.0f), 16777216.0f);
  const IVec whole = __builtin_convertvector(bounded, IVec);
  const IVec is_whole = __builtin_convertvector(whole, Vec) == bounded;
  const IVec odd = is_whole & ((whole & 1) != 0);
  power = Floats(Bits(power) ^ (odd & Bits(x) & static_cast<int32_t>(0x80000000u)));
  const float infinity = __builtin_inff();
  power = Select((x < Zero()) & (x > Set(-infinity)) & ~is_whole, Set(__builtin_nanf("")), power);
  power = Select((x != x) | (y != y), x + y, power);
  return Select((y == Zero()) | (x == Set(1.0f)), Set(1.0f), power);
}

// Calls f with a function x -> x^y for one exponent.
template <class F>
TENON_INLINE void WithExponent(float y, const F& f) {
  if (y == 2.0f) return f([](Vec x) { return x * x; });
  if (y == 3.0f) return f([](Vec x) { return x * x * x; });
  if (y == 1.0f) return f([](Vec x) { return x; });
  if (y == -1.0f) return f([](Vec x) { return Set(1.0f) / x; });
  if (y == -2.0f) return f([](Vec x) { return Set(1.0f) / (x * x); });
  const auto root = [](Vec x) {  // of -0 it is 0, and of -infinity infinity
    const Vec infinite = Set(__builtin_inff());
    return Select(x == -infinite, infinite, Sqrt(x) + Zero());
  };
  if (y == 0.5f) return f(root);
  if (y == -0.5f) return f([root](Vec x) { return Set(1.0f) / root(x); });
  f([y](Vec x) { return Pow(x, Set(y)); });
}

// Calls f(i, count) for vectors of [0, n).
template <class F>
TENON_INLINE void ForVectors(int64_t n, const F& f) {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) f(i, kLanes);
  if (i < n) f(i, n - i);
}
// Operand at i, or the only one where the step is 0.
TENON_INLINE Vec LoadOne(const float* p, int64_t step, int64_t i, int64_t count) {
  return step == 0 ? Set(*p) : LoadPartial(p + i, count);
}

void PowerRow(const float* x, int64_t x_step, const float* y, int64_t y_step, float* out, int64_t n) {
  if (y_step == 0) {
    return WithExponent(*y, [&](const auto& power) {
      ForVectors(n,
                 [&](int64_t i, int64_t count) { StorePartial(out + i, power(LoadOne(x, x_step, i, count)), count); });
    });
  }
  ForVectors(n, [&](int64_t i, int64_t count) {
    StorePartial(out + i, Pow(LoadOne(x, x_step, i, count), LoadPartial(y + i, count)), count);
  });
}

void BaseGradRow(const float* dz, const float* x, int64_t x_step, const float* y, int64_t y_step, float* dx,
                 int64_t n) {
  if (y_step == 0) {
    const Vec factor = Set(*y);
    return WithExponent(*y - 1.0f, [&](const auto& power) {
      ForVectors(n, [&](int64_t i, int64_t count) {
        const Vec slope = factor * power(LoadOne(x, x_step, i, count));
        StorePartial(dx + i, Select(factor == Zero(), Zero(), LoadPartial(dz + i, count) * slope), count);
      });
    });
  }
  ForVectors(n, [&](int64_t i, int64_t count) {
    const Vec e = LoadPartial(y + i, count), slope = e * Pow(LoadOne(x, x_step, i, count), e - Set(1.0f));
    StorePartial(dx + i, Select(e == Zero(), Zero(), LoadPartial(dz + i, count) * slope), count);
  });
}

void ExponentGradRow(const float* dz, const float* x, int64_t x_step, const float* y, int64_t y_step, float* dy,
                     int64_t n) {
  ForVectors(n, [&](int64_t i, int64_t count) {
    const Vec base = LoadOne(x, x_step, i, count), e = LoadOne(y, y_step, i, count);
    const Vec slope = LoadPartial(dz + i, count) * Pow(base, e) * Log(base);
    StorePartial(dy + i, Select((base == Zero()) & (e >= Zero()), Zero(), slope), count);
  });
}

constexpr double kNanoseconds = 1.5;  // an element

}  // namespace

void Power(const BinaryArgs& p, const Parallel& pool) {
  const int inner = p.rank - 1;
  ForBroadcastPieces(p, kNanoseconds, pool, [&](Range rows, Range part) {
    ForBroadcastRows(p, rows, part.begin, [&](int64_t at_a, int64_t at_b, int64_t at) {
      PowerRow(p.a + at_a, p.a_strides[inner], p.b + at_b, p.b_strides[inner], p.out + at, part.end - part.begin);
    });
  });
}

void PowerGrad(const PowerGradArgs& g, const Parallel& pool) {
  const BinaryArgs& p = g.operands;
  const int inner = p.rank - 1;
  const int64_t x_step = p.a_strides[inner], y_step = p.b_strides[inner];
  ForBroadcastPieces(p, 2 * kNanoseconds, pool, [&](Range rows, Range part) {
    const int64_t n = part.end - part.begin;
    ForBroadcastRows(p, rows, part.begin, [&](int64_t at_a, int64_t at_b, int64_t at) {
      const float *x = p.a + at_a, *y = p.b + at_b;
      if (g.dx != nullptr) BaseGradRow(g.dz + at, x, x_step, y, y_step, g.dx + at, n);
      if (g.dy != nullptr) ExponentGradRow(g.dz + at, x, x_step, y, y_step, g.dy + at, n);
    });
  });
}

}  // namespace tenon::cpu::TENON_CPU_ISA
