#include "plugins/device_cpu/compute/softmax.h"

#include "plugins/device_cpu/compute/isa_functions.h"
#include "plugins/device_cpu/compute/math.h"
#include "plugins/device_cpu/compute/vec.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

// Values of a row beyond its end are `fill`.
TENON_INLINE Vec LoadRow(const float* x, int64_t count, float fill) {
  if (count >= kLanes) return Load(x);
  Vec v = LoadPartial(x, count);
  TENON_UNROLL for (int i = 0; i < kLanes; ++i) v[i] = i < count ? v[i] : fill;
  return v;
}

// NaN in either stays.
TENON_INLINE float MaxLanes(Vec v) {
  alignas(64) float x[kLanes];
  Store(x, v);
  float best = x[0];
  for (int i = 1; i < kLanes; ++i) best = x[i] > best || x[i] != x[i] ? x[i] : best;
  return best;
}

TENON_INLINE float RowMax(const float* x, int64_t n) {
  Vec best = LoadRow(x, n, x[0]);
  for (int64_t c = kLanes; c < n; c += kLanes) {
    const Vec v = LoadRow(x + c, n - c, x[0]);
    best = Select((v > best) | (v != v), v, best);
  }
  return MaxLanes(best);
}

// Sum of exp(x - top); writes the terms to `terms` unless it is null.
TENON_INLINE float SumOfExp(const float* x, int64_t n, float top, float* terms) {
  Vec sum = Zero();
  for (int64_t c = 0; c < n; c += kLanes) {
    const int64_t count = Min(kLanes, n - c);
    const Vec e = Exp(LoadRow(x + c, count, -__builtin_inff()) - Set(top));
    if (terms != nullptr) StorePartial(terms + c, e, count);
    sum += e;
  }
  return SumLanes(sum);
}

TENON_INLINE float LogOne(float x) { return Log(Set(x))[0]; }

TENON_INLINE double RowNanoseconds(int64_t rows, int64_t columns) {
  return static_cast<double>(rows) * (20.0 + 0.7 * static_cast<double>(columns));
}

void SoftmaxRow(const SoftmaxArgs& a, int64_t r) {
  const float* x = a.x + r * a.columns;
  float* y = a.y + r * a.columns;
  const float top = RowMax(x, a.columns);
  const float sum = SumOfExp(x, a.columns, top, a.log ? nullptr : y);
  const Vec shift = Set(a.log ? top + LogOne(sum) : 0.0f), factor = Set(1.0f / sum);
  for (int64_t c = 0; c < a.columns; c += kLanes) {
    const int64_t count = Min(kLanes, a.columns - c);
    StorePartial(y + c, a.log ? LoadPartial(x + c, count) - shift : LoadPartial(y + c, count) * factor, count);
  }
}

void SoftmaxGradRow(const SoftmaxGradArgs& a, int64_t r) {
  const float* y = a.y + r * a.columns;
  const float* dy = a.dy + r * a.columns;
  Vec sum = Zero();
  for (int64_t c = 0; c < a.columns; c += kLanes) {
    const int64_t count = Min(kLanes, a.columns - c);
    const Vec d = LoadPartial(dy + c, count);
    sum += a.log ? d : d * LoadPartial(y + c, count);
  }
  const Vec total = Set(SumLanes(sum));
  for (int64_t c = 0; c < a.columns; c += kLanes) {
    const int64_t count = Min(kLanes, a.columns - c);
    const Vec d = LoadPartial(dy + c, count), v = LoadPartial(y + c, count);
    StorePartial(a.dx + r * a.columns + c, a.log ? d - Exp(v) * total : (d - total) * v, count);
  }
}

template <class Args>
TENON_INLINE int64_t LabelOf(const Args& a, int64_t r) {
  return a.labels32 != nullptr ? a.labels32[r] : a.labels64[r];
}

void CrossEntropyRow(const CrossEntropyArgs& a, int64_t r) {
  const int64_t n = a.columns, label = LabelOf(a, r);
  const bool ignored = a.use_ignore && label == a.ignore_index;
  const float* x = a.scores + r * n;
  float* d = a.d_scores == nullptr ? nullptr : a.d_scores + r * n;
  const float top = RowMax(x, n);
  const float sum = SumOfExp(x, n, top, d);
  const float log_sum = top + LogOne(sum);
  if (a.row_loss != nullptr) a.row_loss[r] = ignored ? 0.0f : log_sum - x[label];
  if (a.log_prob != nullptr) {
    for (int64_t c = 0; c < n; c += kLanes) {
      const int64_t count = Min(kLanes, n - c);
      StorePartial(a.log_prob + r * n + c, LoadPartial(x + c, count) - Set(log_sum), count);
    }
  }
  if (d == nullptr) return;
  const float scale = ignored ? 0.0f : a.scale * (a.row_scale != nullptr ? a.row_scale[r] : 1.0f);
  const Vec factor = Set(scale / sum);
  for (int64_t c = 0; c < n; c += kLanes) {
    const int64_t count = Min(kLanes, n - c);
    StorePartial(d + c, ignored ? Zero() : LoadPartial(d + c, count) * factor, count);
  }
  if (!ignored) d[label] -= scale;
}

void CrossEntropyGradRow(const CrossEntropyGradArgs& a, int64_t r) {
  const int64_t n = a.columns, label = LabelOf(a, r);
  const bool ignored = a.use_ignore && label == a.ignore_index;
  float* d = a.d_scores + r * n;
  const float scale = a.scale * (a.row_scale != nullptr ? a.row_scale[r] : 1.0f);
  for (int64_t c = 0; c < n; c += kLanes) {
    const int64_t count = Min(kLanes, n - c);
    StorePartial(d + c, ignored ? Zero() : Exp(LoadPartial(a.log_prob + r * n + c, count)) * Set(scale), count);
  }
  if (!ignored) d[label] -= scale;
}

template <class Args, class F>
TENON_INLINE void Rows(const Args& a, const Parallel& pool, const F& f) {
  if (a.columns == 0) return;
  const int64_t pieces = Pieces(pool, a.rows, RowNanoseconds(a.rows, a.columns));
  ForEach(pool, pieces, [&](int64_t i) {
    const Range rows = Piece(a.rows, pieces, i);
    for (int64_t r = rows.begin; r < rows.end; ++r) f(r);
  });
}

}  // namespace

void Softmax(const SoftmaxArgs& a, const Parallel& pool) {
  Rows(a, pool, [&](int64_t r) { SoftmaxRow(a, r); });
}
void SoftmaxGrad(const SoftmaxGradArgs& a, const Parallel& pool) {
  Rows(a, pool, [&](int64_t r) { SoftmaxGradRow(a, r); });
}
void CrossEntropy(const CrossEntropyArgs& a, const Parallel& pool) {
  Rows(a, pool, [&](int64_t r) { CrossEntropyRow(a, r); });
}
void CrossEntropyGrad(const CrossEntropyGradArgs& a, const Parallel& pool) {
  Rows(a, pool, [&](int64_t r) { CrossEntropyGradRow(a, r); });
}

}  // namespace tenon::cpu::TENON_CPU_ISA
