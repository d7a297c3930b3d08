#include "plugins/device_cpu/compute/reduce.h"

#include "plugins/device_cpu/compute/isa_functions.h"
#include "plugins/device_cpu/compute/math.h"
#include "plugins/device_cpu/compute/softmax_rows.h"
#include "plugins/device_cpu/compute/vec.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

// The better of two: the larger one, or, with kSmall, the smaller one; NaN is better than numbers.
template <bool kSmall>
TENON_INLINE Vec Better(Vec a, Vec b) {
  return Select((kSmall ? b < a : b > a) | (b != b), b, a);
}
template <bool kSmall>
TENON_INLINE float Better(float a, float b) {
  return (kSmall ? b < a : b > a) || b != b ? b : a;
}
template <bool kSmall>
constexpr float kWorst = kSmall ? __builtin_inff() : -__builtin_inff();

template <bool kSquares>
TENON_INLINE Vec Term(Vec x) {
  return kSquares ? x * x : x;
}

// Sums of up to kBlock terms in f32, the blocks in double: long sums keep their digits.
constexpr int64_t kBlock = 2048;

template <bool kSquares, class T>
TENON_INLINE double SumRun(const T* x, int64_t n) {
  double total = 0;
  for (int64_t first = 0; first < n; first += kBlock) {
    const int64_t count = Min(kBlock, n - first);
    const T* p = x + first;
    Vec sum[4] = {Zero(), Zero(), Zero(), Zero()};
    int64_t i = 0;
    for (; i + 4 * kLanes <= count; i += 4 * kLanes)
      TENON_UNROLL for (int j = 0; j < 4; ++j) sum[j] += Term<kSquares>(Load(p + i + j * kLanes));
    for (; i + kLanes <= count; i += kLanes) sum[0] += Term<kSquares>(Load(p + i));
    if (i < count) sum[1] += Term<kSquares>(LoadPartial(p + i, count - i));
    total += static_cast<double>(SumLanes((sum[0] + sum[1]) + (sum[2] + sum[3])));
  }
  return total;
}

template <bool kSmall, class T>
TENON_INLINE float BestOfRun(const T* x, int64_t n, float best) {
  Vec top = Set(best);
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) top = Better<kSmall>(top, Load(x + i));
  for (int l = 0; l < kLanes; ++l) best = Better<kSmall>(best, top[l]);
  for (; i < n; ++i) best = Better<kSmall>(best, ToFloat(x[i]));
  return best;
}

// Calls f(first, output): the runs of an output begin at `first`.
template <class T, class F>
TENON_INLINE void ForOutputs(const ReduceArgsOf<T>& a, Range outputs, const F& f) {
  for (int64_t o = outputs.begin; o < outputs.end; ++o)
    f(a.x + o / a.k1 * a.r0 * a.k1 * a.r1 + o % a.k1 * a.r1, a.y + o);
}

template <bool kSmall, class T>
void BestOfRuns(const ReduceArgsOf<T>& a, Range outputs) {
  ForOutputs(a, outputs, [&](const T* x, T* y) {
    float best = kWorst<kSmall>;
    for (int64_t r = 0; r < a.r0; ++r) best = BestOfRun<kSmall>(x + r * a.k1 * a.r1, a.r1, best);
    StorePartial(y, Set(best), 1);
  });
}

template <bool kSquares, class T>
void SumsOfRuns(const ReduceArgsOf<T>& a, Range outputs) {
  ForOutputs(a, outputs, [&](const T* x, T* y) {
    double sum = 0;
    for (int64_t r = 0; r < a.r0; ++r) sum += SumRun<kSquares>(x + r * a.k1 * a.r1, a.r1);
    if (a.op == ReduceOp::kMean) sum /= static_cast<double>(a.r0 * a.r1);
    if (a.op == ReduceOp::kL2) sum = __builtin_sqrt(sum);
    StorePartial(y, Set(static_cast<float>(sum)), 1);
  });
}

// What the largest is lowered to in the exponents: infinities would give NaN.
TENON_INLINE Vec ShiftOf(Vec top) { return Select(Abs(top) == Set(__builtin_inff()), Zero(), top); }

void LogsOfRuns(const ReduceArgs& a, Range outputs) {
  ForOutputs(a, outputs, [&](const float* x, float* y) {
    const float shift = ShiftOf(Set(RowMax(x, a.r1)))[0];
    *y = shift + LogOne(SumOfExp(x, a.r1, shift, nullptr));
  });
}
void LogsOfRuns(const ReduceArgsOf<Bf16>&, Range) {}  // not of bf16

// One run an output, none longer than a vector: lanes are neighbouring outputs, found by turning a block of runs.
template <class T>
bool IsShort(const ReduceArgsOf<T>& a) {
  return a.r0 == 1 && a.r1 <= kLanes && a.op != ReduceOp::kLogSumExp;
}
template <class T>
void ShortRuns(const ReduceArgsOf<T>& a, Range outputs) {
  const auto each = [&](float start, const auto& join, const auto& finish) {
    for (int64_t o = outputs.begin; o < outputs.end; o += kLanes) {
      const int64_t count = Min(kLanes, outputs.end - o);
      Vec v[kLanes];
      TENON_UNROLL for (int64_t i = 0; i < kLanes; ++i) v[i] =
          i < count ? LoadPartial(a.x + (o + i) * a.r1, a.r1) : Zero();
      Transpose(v);
      Vec all = Set(start);
      TENON_UNROLL for (int64_t r = 0; r < kLanes; ++r) all = r < a.r1 ? join(all, v[r]) : all;
      StorePartial(a.y + o, finish(all), count);
    }
  };
  const auto same = [](Vec x) { return x; };
  const auto add = [](Vec sum, Vec x) { return sum + x; };
  const auto add_square = [](Vec sum, Vec x) { return sum + x * x; };
  const Vec share = Set(1.0f / static_cast<float>(a.r1));
  if (a.op == ReduceOp::kMax)
    return each(
        kWorst<false>, [](Vec b, Vec x) { return Better<false>(b, x); }, same);
  if (a.op == ReduceOp::kMin)
    return each(
        kWorst<true>, [](Vec b, Vec x) { return Better<true>(b, x); }, same);
  if (a.op == ReduceOp::kMean) return each(0.0f, add, [share](Vec sum) { return sum * share; });
  if (a.op == ReduceOp::kSumSquare) return each(0.0f, add_square, same);
  if (a.op == ReduceOp::kL2) return each(0.0f, add_square, [](Vec sum) { return Sqrt(sum); });
  each(0.0f, add, same);
}

// Each output over runs of r1 neighbours.
template <class T>
void Runs(const ReduceArgsOf<T>& a, Range outputs) {
  if (IsShort(a)) return ShortRuns(a, outputs);
  switch (a.op) {
    case ReduceOp::kMax:
      return BestOfRuns<false>(a, outputs);
    case ReduceOp::kMin:
      return BestOfRuns<true>(a, outputs);
    case ReduceOp::kSumSquare:
    case ReduceOp::kL2:
      return SumsOfRuns<true>(a, outputs);
    case ReduceOp::kLogSumExp:
      return LogsOfRuns(a, outputs);
    case ReduceOp::kSum:
    case ReduceOp::kMean:
      return SumsOfRuns<false>(a, outputs);
  }
}

// The rest has r1 = 1: lanes are neighbouring outputs of one k0, of which `x` is the first row at column c.
template <bool kSmall, class T>
TENON_INLINE Vec BestOfColumn(const ReduceArgsOf<T>& a, const T* x, int64_t count) {
  Vec best = Set(kWorst<kSmall>);
  for (int64_t r = 0; r < a.r0; ++r) best = Better<kSmall>(best, LoadPartial(x + r * a.k1, count));
  return best;
}

template <bool kSquares, class T>
TENON_INLINE Vec SumOfColumn(const ReduceArgsOf<T>& a, const T* x, int64_t count) {
  Vec total = Zero();
  for (int64_t first = 0; first < a.r0; first += kBlock) {
    const int64_t end = Min(a.r0, first + kBlock);
    Vec sum[2] = {Zero(), Zero()};
    for (int64_t r = first; r < end; ++r) sum[r & 1] += Term<kSquares>(LoadPartial(x + r * a.k1, count));
    total += sum[0] + sum[1];
  }
  return total;
}

template <class T>
TENON_INLINE Vec LogOfColumn(const ReduceArgsOf<T>& a, const T* x, int64_t count) {
  const Vec shift = ShiftOf(BestOfColumn<false>(a, x, count));
  Vec sum = Zero();
  for (int64_t r = 0; r < a.r0; ++r) sum += Exp(LoadPartial(x + r * a.k1, count) - shift);
  return shift + Log(sum);
}

template <class T, class F>
TENON_INLINE void ForColumns(const ReduceArgsOf<T>& a, int64_t k0, Range columns, const F& f) {
  for (int64_t c = columns.begin; c < columns.end; c += kLanes) {
    const int64_t count = Min(kLanes, columns.end - c);
    StorePartial(a.y + k0 * a.k1 + c, f(a.x + k0 * a.r0 * a.k1 + c, count), count);
  }
}

template <class T>
void Columns(const ReduceArgsOf<T>& a, int64_t k0, Range columns) {
  const auto each = [&](const auto& f) { ForColumns(a, k0, columns, f); };
  switch (a.op) {
    case ReduceOp::kMax:
      return each([&](const T* x, int64_t count) { return BestOfColumn<false>(a, x, count); });
    case ReduceOp::kMin:
      return each([&](const T* x, int64_t count) { return BestOfColumn<true>(a, x, count); });
    case ReduceOp::kSumSquare:
      return each([&](const T* x, int64_t count) { return SumOfColumn<true>(a, x, count); });
    case ReduceOp::kL2:
      return each([&](const T* x, int64_t count) { return Sqrt(SumOfColumn<true>(a, x, count)); });
    case ReduceOp::kLogSumExp:
      return each([&](const T* x, int64_t count) { return LogOfColumn(a, x, count); });
    case ReduceOp::kSum:
    case ReduceOp::kMean: {
      const Vec scale = Set(a.op == ReduceOp::kMean ? 1.0f / static_cast<float>(a.r0) : 1.0f);
      return each([&](const T* x, int64_t count) { return SumOfColumn<false>(a, x, count) * scale; });
    }
  }
}

}  // namespace

template <class T>
void Reduce(const ReduceArgsOf<T>& a, const Parallel& pool) {
  const double nanoseconds = 0.3 * static_cast<double>(a.k0 * a.r0) * static_cast<double>(a.k1 * a.r1);
  if (a.r1 > 1) {
    const int64_t pieces = Pieces(pool, a.k0 * a.k1, nanoseconds);
    return ForEach(pool, pieces, [&](int64_t i) { Runs(a, Piece(a.k0 * a.k1, pieces, i)); });
  }
  if (a.k0 > 1) {
    const int64_t pieces = Pieces(pool, a.k0, nanoseconds);
    return ForEach(pool, pieces, [&](int64_t i) {
      const Range r = Piece(a.k0, pieces, i);
      for (int64_t k = r.begin; k < r.end; ++k) Columns(a, k, {0, a.k1});
    });
  }
  const int64_t pieces = Pieces(pool, CeilDiv(a.k1, kLanes), nanoseconds);
  ForEach(pool, pieces, [&](int64_t i) { Columns(a, 0, Piece(a.k1, pieces, i, kLanes)); });
}

template void Reduce(const ReduceArgsOf<float>&, const Parallel&);
template void Reduce(const ReduceArgsOf<Bf16>&, const Parallel&);

}  // namespace tenon::cpu::TENON_CPU_ISA
