#include "plugins/device_cpu/compute/batch_norm.h"

#include "plugins/device_cpu/compute/isa_functions.h"
#include "plugins/device_cpu/compute/math.h"
#include "plugins/device_cpu/compute/vec.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

// Terms summed in f32 before they join the total.
constexpr int64_t kBlock = 1024;

// ---- inner = 1: lanes are neighbouring channels. `term(row, count)` gives K vectors to be summed over the rows.
template <int K, class F>
TENON_INLINE void SumRows(int64_t rows, const F& term, Vec (&total)[K]) {
  TENON_UNROLL for (int k = 0; k < K; ++k) total[k] = Zero();
  for (int64_t first = 0; first < rows; first += kBlock) {
    Vec sum[K];
    TENON_UNROLL for (int k = 0; k < K; ++k) sum[k] = Zero();
    for (int64_t r = first; r < Min(rows, first + kBlock); ++r) {
      Vec t[K];
      term(r, t);
      TENON_UNROLL for (int k = 0; k < K; ++k) sum[k] += t[k];
    }
    TENON_UNROLL for (int k = 0; k < K; ++k) total[k] += sum[k];
  }
}

// ---- inner > 1: lanes along a plane. `term(place, count)` gives K vectors; places beyond a plane's end must give 0.
template <int K, class F>
TENON_INLINE void SumPlanes(const BatchNormShape& s, int64_t c, const F& term, double (&total)[K]) {
  for (int k = 0; k < K; ++k) total[k] = 0;
  for (int64_t n = 0; n < s.outer; ++n) {
    const int64_t base = (n * s.channels + c) * s.inner;
    Vec sum[K];
    TENON_UNROLL for (int k = 0; k < K; ++k) sum[k] = Zero();
    for (int64_t i = 0; i < s.inner; i += kLanes) {
      Vec t[K];
      term(base + i, Min(kLanes, s.inner - i), t);
      TENON_UNROLL for (int k = 0; k < K; ++k) sum[k] += t[k];
    }
    for (int k = 0; k < K; ++k) total[k] += static_cast<double>(SumLanes(sum[k]));
  }
}

// x - mean where there is data, 0 in the lanes beyond `count`.
TENON_INLINE Vec Centred(const float* x, int64_t count, Vec mean) {
  Vec v = LoadPartial(x, count) - mean;
  if (count < kLanes)
    TENON_UNROLL for (int l = 0; l < kLanes; ++l) v[l] = l < count ? v[l] : 0.0f;
  return v;
}

void StatsOfLanes(const BatchNormStatsArgs& a, int64_t c) {
  const BatchNormShape& s = a.shape;
  const int64_t count = Min(kLanes, s.channels - c);
  const Vec share = Set(1.0f / static_cast<float>(s.outer));
  const float* x = a.x + c;
  Vec sum[1];
  SumRows<1>(s.outer, [&](int64_t r, Vec(&t)[1]) { t[0] = LoadPartial(x + r * s.channels, count); }, sum);
  const Vec mean = sum[0] * share;
  SumRows<1>(s.outer, [&](int64_t r, Vec(&t)[1]) {
    const Vec d = LoadPartial(x + r * s.channels, count) - mean;
    t[0] = d * d;
  }, sum);
  StorePartial(a.mean + c, mean, count);
  StorePartial(a.var + c, sum[0] * share, count);
}

void StatsOfPlanes(const BatchNormStatsArgs& a, int64_t c) {
  const double share = 1.0 / static_cast<double>(a.shape.outer * a.shape.inner);
  double sum[1];
  SumPlanes<1>(a.shape, c, [&](int64_t at, int64_t count, Vec(&t)[1]) { t[0] = LoadPartial(a.x + at, count); }, sum);
  a.mean[c] = static_cast<float>(sum[0] * share);
  const Vec mean = Set(a.mean[c]);
  SumPlanes<1>(a.shape, c, [&](int64_t at, int64_t count, Vec(&t)[1]) {
    const Vec d = Centred(a.x + at, count, mean);
    t[0] = d * d;
  }, sum);
  a.var[c] = static_cast<float>(sum[0] * share);
}

TENON_INLINE Vec Finish(const BatchNormApplyArgs& a, Vec x, Vec factor, Vec shift) {
  const Vec y = x * factor + shift;
  return a.relu ? Relu(y) : y;
}

void ApplyLanes(const BatchNormApplyArgs& a, int64_t c) {
  const BatchNormShape& s = a.shape;
  const int64_t count = Min(kLanes, s.channels - c);
  const Vec factor = LoadPartial(a.scale + c, count) * LoadPartial(a.inv_std + c, count);
  const Vec shift = LoadPartial(a.bias + c, count) - LoadPartial(a.mean + c, count) * factor;
  for (int64_t r = 0; r < s.outer; ++r)
    StorePartial(a.y + r * s.channels + c, Finish(a, LoadPartial(a.x + r * s.channels + c, count), factor, shift), count);
}

void ApplyPlanes(const BatchNormApplyArgs& a, int64_t c) {
  const BatchNormShape& s = a.shape;
  const float f = a.scale[c] * a.inv_std[c];
  const Vec factor = Set(f), shift = Set(a.bias[c] - a.mean[c] * f);
  for (int64_t n = 0; n < s.outer; ++n) {
    const int64_t base = (n * s.channels + c) * s.inner;
    for (int64_t i = 0; i < s.inner; i += kLanes) {
      const int64_t count = Min(kLanes, s.inner - i);
      StorePartial(a.y + base + i, Finish(a, LoadPartial(a.x + base + i, count), factor, shift), count);
    }
  }
}

void GradLanes(const BatchNormGradArgs& a, int64_t c) {
  const BatchNormShape& s = a.shape;
  const int64_t count = Min(kLanes, s.channels - c);
  const Vec mean = LoadPartial(a.mean + c, count);
  const Vec root = LoadPartial(a.inv_std + c, count);
  Vec sum[2];
  SumRows<2>(s.outer, [&](int64_t r, Vec(&t)[2]) {
    t[0] = LoadPartial(a.dy + r * s.channels + c, count);
    t[1] = t[0] * ((LoadPartial(a.x + r * s.channels + c, count) - mean) * root);
  }, sum);
  StorePartial(a.d_bias + c, sum[0], count);
  StorePartial(a.d_scale + c, sum[1], count);
  if (a.dx == nullptr) return;
  const Vec share = Set(a.training ? 1.0f / static_cast<float>(s.outer) : 0.0f);
  const Vec factor = LoadPartial(a.scale + c, count) * root, b = sum[0] * share, g = sum[1] * share * root;
  for (int64_t r = 0; r < s.outer; ++r) {
    const Vec dy = LoadPartial(a.dy + r * s.channels + c, count), x = LoadPartial(a.x + r * s.channels + c, count);
    StorePartial(a.dx + r * s.channels + c, factor * (dy - b - (x - mean) * g), count);
  }
}

void GradPlanes(const BatchNormGradArgs& a, int64_t c) {
  const BatchNormShape& s = a.shape;
  const float root = a.inv_std[c];
  const Vec mean = Set(a.mean[c]);
  double sum[2];
  SumPlanes<2>(s, c, [&](int64_t at, int64_t count, Vec(&t)[2]) {
    t[0] = LoadPartial(a.dy + at, count);
    t[1] = t[0] * Centred(a.x + at, count, mean) * Set(root);
  }, sum);
  a.d_bias[c] = static_cast<float>(sum[0]);
  a.d_scale[c] = static_cast<float>(sum[1]);
  if (a.dx == nullptr) return;
  const double share = a.training ? 1.0 / static_cast<double>(s.outer * s.inner) : 0.0;
  const Vec factor = Set(a.scale[c] * root), b = Set(static_cast<float>(sum[0] * share));
  const Vec g = Set(static_cast<float>(sum[1] * share * static_cast<double>(root)));
  for (int64_t n = 0; n < s.outer; ++n) {
    const int64_t base = (n * s.channels + c) * s.inner;
    for (int64_t i = 0; i < s.inner; i += kLanes) {
      const int64_t count = Min(kLanes, s.inner - i);
      const Vec dy = LoadPartial(a.dy + base + i, count), x = LoadPartial(a.x + base + i, count);
      StorePartial(a.dx + base + i, factor * (dy - b - (x - mean) * g), count);
    }
  }
}

// Calls lanes(first channel) or planes(channel) for every channel.
template <class L, class P>
TENON_INLINE void Channels(const BatchNormShape& s, const Parallel& pool, const L& lanes, const P& planes) {
  const bool last = s.inner == 1;
  const int64_t units = last ? CeilDiv(s.channels, kLanes) : s.channels;
  const int64_t pieces = Pieces(pool, units, 0.5 * static_cast<double>(s.outer * s.channels * s.inner));
  ForEach(pool, pieces, [&](int64_t i) {
    const Range r = Piece(units, pieces, i);
    for (int64_t u = r.begin; u < r.end; ++u) {
      if (last) lanes(u * kLanes);
      else planes(u);
    }
  });
}

}  // namespace

void BatchNormStats(const BatchNormStatsArgs& a, const Parallel& pool) {
  Channels(a.shape, pool, [&](int64_t c) { StatsOfLanes(a, c); }, [&](int64_t c) { StatsOfPlanes(a, c); });
}
void BatchNormApply(const BatchNormApplyArgs& a, const Parallel& pool) {
  Channels(a.shape, pool, [&](int64_t c) { ApplyLanes(a, c); }, [&](int64_t c) { ApplyPlanes(a, c); });
}
void BatchNormGrad(const BatchNormGradArgs& a, const Parallel& pool) {
  Channels(a.shape, pool, [&](int64_t c) { GradLanes(a, c); }, [&](int64_t c) { GradPlanes(a, c); });
}

}  // namespace tenon::cpu::TENON_CPU_ISA
