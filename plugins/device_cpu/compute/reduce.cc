#include "plugins/device_cpu/compute/reduce.h"

#include "plugins/device_cpu/compute/isa_functions.h"
#include "plugins/device_cpu/compute/math.h"
#include "plugins/device_cpu/compute/vec.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

TENON_INLINE Vec Larger(Vec a, Vec b) { return Select((b > a) | (b != b), b, a); }
TENON_INLINE float Larger(float a, float b) { return b > a || b != b ? b : a; }

// Sums of up to kBlock terms in f32, the blocks in double: long sums keep their digits.
constexpr int64_t kBlock = 2048;

template <class T>
TENON_INLINE double SumRun(const T* x, int64_t n) {
  double total = 0;
  for (int64_t first = 0; first < n; first += kBlock) {
    const int64_t count = Min(kBlock, n - first);
    const T* p = x + first;
    Vec sum[4] = {Zero(), Zero(), Zero(), Zero()};
    int64_t i = 0;
    for (; i + 4 * kLanes <= count; i += 4 * kLanes)
      TENON_UNROLL for (int j = 0; j < 4; ++j) sum[j] += Load(p + i + j * kLanes);
    for (; i + kLanes <= count; i += kLanes) sum[0] += Load(p + i);
    if (i < count) sum[1] += LoadPartial(p + i, count - i);
    total += static_cast<double>(SumLanes((sum[0] + sum[1]) + (sum[2] + sum[3])));
  }
  return total;
}

template <class T>
TENON_INLINE float MaxRun(const T* x, int64_t n, float best) {
  Vec top = Set(best);
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) top = Larger(top, Load(x + i));
  for (int l = 0; l < kLanes; ++l) best = Larger(best, top[l]);
  for (; i < n; ++i) best = Larger(best, ToFloat(x[i]));
  return best;
}

// Outputs [outputs.begin, outputs.end), each over runs of r1 neighbours.
template <class T>
void Runs(const ReduceArgsOf<T>& a, Range outputs) {
  for (int64_t o = outputs.begin; o < outputs.end; ++o) {
    const T* x = a.x + o / a.k1 * a.r0 * a.k1 * a.r1 + o % a.k1 * a.r1;
    if (a.op == ReduceOp::kMax) {
      float best = -__builtin_inff();
      for (int64_t r = 0; r < a.r0; ++r) best = MaxRun(x + r * a.k1 * a.r1, a.r1, best);
      StorePartial(a.y + o, Set(best), 1);
      continue;
    }
    double sum = 0;
    for (int64_t r = 0; r < a.r0; ++r) sum += SumRun(x + r * a.k1 * a.r1, a.r1);
    if (a.op == ReduceOp::kMean) sum /= static_cast<double>(a.r0 * a.r1);
    StorePartial(a.y + o, Set(static_cast<float>(sum)), 1);
  }
}

// r1 = 1: lanes are neighbouring outputs of one k0.
template <class T>
void Columns(const ReduceArgsOf<T>& a, int64_t k0, Range columns) {
  const T* x = a.x + k0 * a.r0 * a.k1;
  const Vec scale = Set(a.op == ReduceOp::kMean ? 1.0f / static_cast<float>(a.r0) : 1.0f);
  for (int64_t c = columns.begin; c < columns.end; c += kLanes) {
    const int64_t count = Min(kLanes, columns.end - c);
    Vec total = a.op == ReduceOp::kMax ? Set(-__builtin_inff()) : Zero();
    for (int64_t first = 0; first < a.r0; first += kBlock) {
      const int64_t end = Min(a.r0, first + kBlock);
      if (a.op == ReduceOp::kMax) {
        for (int64_t r = first; r < end; ++r) total = Larger(total, LoadPartial(x + r * a.k1 + c, count));
        continue;
      }
      Vec sum[2] = {Zero(), Zero()};
      for (int64_t r = first; r < end; ++r) sum[r & 1] += LoadPartial(x + r * a.k1 + c, count);
      total += sum[0] + sum[1];
    }
    StorePartial(a.y + k0 * a.k1 + c, total * scale, count);
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
