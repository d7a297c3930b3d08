#include "plugins/device_cpu/compute/gelu.h"

#include "plugins/device_cpu/compute/column_sums.h"
#include "plugins/device_cpu/compute/isa_functions.h"
#include "plugins/device_cpu/compute/math.h"
#include "plugins/device_cpu/compute/vec.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

// The normal distribution: its density phi and its integral Phi, each to about 1e-7 of its size. Phi(-z sqrt 2) =
// exp(-z^2) t P(t) / 2 with t = 1 / (1 + 0.3 z), z >= 0; P is the best polynomial of degree 8 for 0 <= z <= 10 (least
// squares, reweighted; error 2e-8).
struct Normal {
  Vec density, integral;
};
TENON_INLINE Normal NormalOf(Vec x) {
  const Vec size = Abs(x);
  const Vec e = ExpOfNegative(x * x * Set(-0.5f));
  const Vec t = Set(1.0f) / (Set(1.0f) + size * Set(0.3f * 0.707106781f));
  Vec p = Set(-0.129523637f);
  p = p * t + Set(0.485566867f);
  p = p * t + Set(-0.512285867f);
  p = p * t + Set(0.547729209f);
  p = p * t + Set(-0.0946572822f);
  p = p * t + Set(0.214928952f);
  p = p * t + Set(0.148338402f);
  p = p * t + Set(0.170715339f);
  p = p * t + Set(0.169187998f);
  const Vec tail = p * t * e * Set(0.5f);
  return {e * Set(0.398942280f), Select(x < Zero(), tail, Set(1.0f) - tail)};
}

// sqrt(2 / pi) (x + 0.044715 x^3) twice, so that (1 + tanh(u)) / 2 = Sigmoid(2 u); and its derivative.
TENON_INLINE Vec TwiceArgument(Vec x) { return x * (Set(1.59576912f) + x * x * Set(0.0713548163f)); }
TENON_INLINE Vec TwiceSlope(Vec x) { return Set(1.59576912f) + x * x * Set(3 * 0.0713548163f); }

template <bool kApproximate>
TENON_INLINE Vec Value(Vec x) {
  if (kApproximate) return x * Sigmoid(TwiceArgument(x));
  return x * NormalOf(x).integral;
}

template <bool kApproximate>
TENON_INLINE Vec Slope(Vec x) {
  if (kApproximate) {
    // s = Sigmoid(2 u); 1 - s would lose its digits where s is near 1, e s does not.
    const Vec e = Exp(AtMost(-TwiceArgument(x), 88.0f));
    const Vec s = Set(1.0f) / (Set(1.0f) + e);
    return s + x * s * (e * s) * TwiceSlope(x);
  }
  const Normal n = NormalOf(x);
  return n.integral + x * n.density;
}

template <bool kApproximate, class T>
void Forward(const GeluArgsOf<T>& a, Range r) {
  int64_t i = r.begin;
  for (; i + kLanes <= r.end; i += kLanes) Store(a.y + i, Value<kApproximate>(Load(a.x + i)));
  if (i < r.end) StorePartial(a.y + i, Value<kApproximate>(LoadPartial(a.x + i, r.end - i)), r.end - i);
}

template <bool kApproximate, class T>
TENON_INLINE Vec One(const GeluGradArgsOf<T>& a, int64_t at, int64_t count) {
  const Vec dx = LoadPartial(a.dy + at, count) * Slope<kApproximate>(LoadPartial(a.x + at, count));
  StorePartial(a.dx + at, dx, count);
  return dx;
}

template <bool kApproximate, class T>
void Backward(const GeluGradArgsOf<T>& a, Range rows, float* sums) {
  for (int64_t r = rows.begin; r < rows.end; ++r) {
    for (int64_t c = 0; c < a.columns; c += kLanes) {
      const int64_t count = Min(kLanes, a.columns - c);
      const Vec dx = One<kApproximate>(a, r * a.columns + c, count);
      if (sums != nullptr) AddTo(sums + c, dx, count);
    }
  }
}

}  // namespace

template <class T>
void Gelu(const GeluArgsOf<T>& a, const Parallel& pool) {
  const int64_t pieces = Pieces(pool, CeilDiv(a.count, 64), 0.5 * static_cast<double>(a.count));
  ForEach(pool, pieces, [&](int64_t i) {
    const Range part = Piece(a.count, pieces, i, 64);
    a.approximate ? Forward<true>(a, part) : Forward<false>(a, part);
  });
}

template <class T>
int64_t GeluGradWorkspace(const GeluGradArgsOf<T>& a) {
  return PartsOf(a.rows) * RoundUp(a.columns, 16) * static_cast<int64_t>(sizeof(float));
}

template <class T>
void GeluGrad(const GeluGradArgsOf<T>& a, float* workspace, const Parallel& pool) {
  const int64_t parts = PartsOf(a.rows), stride = RoundUp(a.columns, 16);
  const int64_t pieces = Pieces(pool, parts, 1.0 * static_cast<double>(a.rows * a.columns));
  ForEach(pool, pieces, [&](int64_t i) {
    const Range own = Piece(parts, pieces, i);
    for (int64_t p = own.begin; p < own.end; ++p) {
      float* sums = a.column_sums != nullptr ? workspace + p * stride : nullptr;
      if (sums != nullptr) ClearSums(sums, a.columns);
      const Range rows = RowsOfPart(a.rows, p);
      a.approximate ? Backward<true>(a, rows, sums) : Backward<false>(a, rows, sums);
    }
  });
  if (a.column_sums != nullptr) SumParts(workspace, parts, stride, a.columns, a.column_sums);
}

template void Gelu(const GeluArgsOf<float>&, const Parallel&);
template void Gelu(const GeluArgsOf<Bf16>&, const Parallel&);
template int64_t GeluGradWorkspace(const GeluGradArgsOf<float>&);
template int64_t GeluGradWorkspace(const GeluGradArgsOf<Bf16>&);
template void GeluGrad(const GeluGradArgsOf<float>&, float*, const Parallel&);
template void GeluGrad(const GeluGradArgsOf<Bf16>&, float*, const Parallel&);

}  // namespace tenon::cpu::TENON_CPU_ISA
