#include "plugins/device_cpu/compute/batch_norm.h"

#include "plugins/device_cpu/compute/isa_functions.h"
#include "plugins/device_cpu/compute/math.h"
#include "plugins/device_cpu/compute/vec.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

template <int N>
struct Int {
  static constexpr int value = N;
};
template <bool B>
struct Bool {
  static constexpr bool value = B;
};

// Terms summed in f32 before they join the total.
constexpr int64_t kBlock = 1024;

// ---- inner = 1: lanes are neighbouring channels, NV vectors of them at a time, so that a row is read in long pieces.
// `term(row, v, count)` gives K vectors for vector v to be summed over the rows.
template <int NV>
TENON_INLINE int64_t CountOf(int64_t left, int v) {
  return Max(0, Min(kLanes, left - v * kLanes));
}
template <int K, int NV, class F>
TENON_INLINE void SumRows(int64_t rows, const F& term, Vec (&total)[NV][K]) {
  TENON_UNROLL for (int v = 0; v < NV; ++v) TENON_UNROLL for (int k = 0; k < K; ++k) total[v][k] = Zero();
  for (int64_t first = 0; first < rows; first += kBlock) {
    Vec sum[NV][K];
    TENON_UNROLL for (int v = 0; v < NV; ++v) TENON_UNROLL for (int k = 0; k < K; ++k) sum[v][k] = Zero();
    const int64_t end = Min(rows, first + kBlock);
    for (int64_t r = first; r < end; ++r) {
      TENON_UNROLL for (int v = 0; v < NV; ++v) {
        Vec t[K];
        term(r, v, t);
        TENON_UNROLL for (int k = 0; k < K; ++k) sum[v][k] += t[k];
      }
    }
    TENON_UNROLL for (int v = 0; v < NV; ++v) TENON_UNROLL for (int k = 0; k < K; ++k) total[v][k] += sum[v][k];
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
template <class T>
TENON_INLINE Vec Centred(const T* x, int64_t count, Vec mean) {
  Vec v = LoadPartial(x, count) - mean;
  if (count < kLanes) TENON_UNROLL for (int l = 0; l < kLanes; ++l) v[l] = l < count ? v[l] : 0.0f;
  return v;
}

// NV vectors of channels from c on. kWhole: all of them are full.
template <int NV, bool kWhole, class T>
void StatsOfLanes(const BatchNormStatsArgsOf<T>& a, int64_t c) {
  const BatchNormShape& s = a.shape;
  const int64_t left = s.channels - c;
  const Vec share = Set(1.0f / static_cast<float>(s.outer));
  const auto load = [&](int64_t r, int v) {
    const T* from = a.x + r * s.channels + c + v * kLanes;
    return kWhole ? Load(from) : LoadPartial(from, CountOf<NV>(left, v));
  };
  Vec sum[NV][1], mean[NV];
  SumRows<1, NV>(
      s.outer, [&](int64_t r, int v, Vec(&t)[1]) { t[0] = load(r, v); }, sum);
  TENON_UNROLL for (int v = 0; v < NV; ++v) mean[v] = sum[v][0] * share;
  SumRows<1, NV>(
      s.outer,
      [&](int64_t r, int v, Vec(&t)[1]) {
        const Vec d = load(r, v) - mean[v];
        t[0] = d * d;
      },
      sum);
  TENON_UNROLL for (int v = 0; v < NV; ++v) {
    StorePartial(a.mean + c + v * kLanes, mean[v], CountOf<NV>(left, v));
    StorePartial(a.var + c + v * kLanes, sum[v][0] * share, CountOf<NV>(left, v));
  }
}

template <class T>
void StatsOfPlanes(const BatchNormStatsArgsOf<T>& a, int64_t c) {
  const double share = 1.0 / static_cast<double>(a.shape.outer * a.shape.inner);
  double sum[1];
  SumPlanes<1>(
      a.shape, c, [&](int64_t at, int64_t count, Vec(&t)[1]) { t[0] = LoadPartial(a.x + at, count); }, sum);
  a.mean[c] = static_cast<float>(sum[0] * share);
  const Vec mean = Set(a.mean[c]);
  SumPlanes<1>(
      a.shape, c,
      [&](int64_t at, int64_t count, Vec(&t)[1]) {
        const Vec d = Centred(a.x + at, count, mean);
        t[0] = d * d;
      },
      sum);
  a.var[c] = static_cast<float>(sum[0] * share);
}

// The `count` values at `at`.
template <class T>
TENON_INLINE Vec Finish(const BatchNormApplyArgsOf<T>& a, int64_t at, int64_t count, Vec factor, Vec shift) {
  Vec y = LoadPartial(a.x + at, count) * factor + shift;
  if (a.residual != nullptr) y += LoadPartial(a.residual + at, count);
  if (!a.limits.limited) return y;
  const Vec low = Set(a.limits.low), high = Set(a.limits.high);
  y = y < low ? low : y;
  return y > high ? high : y;
}

// What of the gradient at `at` passes; x is the value there.
template <class T>
TENON_INLINE Vec Passed(const BatchNormGradArgsOf<T>& a, int64_t at, int64_t count, Vec x, Vec factor, Vec shift) {
  const Vec dy = LoadPartial(a.dy + at, count);
  switch (a.mask) {
    case BatchNormMask::kNone:
      return dy;
    case BatchNormMask::kAboveZero:
      return KeepWhere(~(x * factor + shift <= Zero()), dy);
    case BatchNormMask::kInside: {
      const Vec z = x * factor + shift;
      return KeepWhere(~((z < Set(a.limits.low)) | (z > Set(a.limits.high))), dy);
    }
    case BatchNormMask::kOutputAboveZero:
      return KeepWhere(~(LoadPartial(a.y + at, count) <= Zero()), dy);
  }
  return dy;
}

template <int NV, bool kWhole, class T>
void ApplyLanes(const BatchNormApplyArgsOf<T>& args, int64_t c) {
  const BatchNormApplyArgsOf<T> a = args;  // stores of vectors cannot change it
  const BatchNormShape& s = a.shape;
  const int64_t left = s.channels - c;
  Vec factor[NV], shift[NV];
  TENON_UNROLL for (int v = 0; v < NV; ++v) {
    const int64_t at = c + v * kLanes, count = CountOf<NV>(left, v);
    factor[v] = LoadPartial(a.scale + at, count) * LoadPartial(a.inv_std + at, count);
    shift[v] = LoadPartial(a.bias + at, count) - LoadPartial(a.mean + at, count) * factor[v];
  }
  for (int64_t r = 0; r < s.outer; ++r) {
    TENON_UNROLL for (int v = 0; v < NV; ++v) {
      const int64_t at = r * s.channels + c + v * kLanes, count = kWhole ? kLanes : CountOf<NV>(left, v);
      StorePartial(a.y + at, Finish(a, at, count, factor[v], shift[v]), count);
    }
  }
}

template <class T>
void ApplyPlanes(const BatchNormApplyArgsOf<T>& a, int64_t c) {
  const BatchNormShape& s = a.shape;
  const float f = a.scale[c] * a.inv_std[c];
  const Vec factor = Set(f), shift = Set(a.bias[c] - a.mean[c] * f);
  for (int64_t n = 0; n < s.outer; ++n) {
    const int64_t base = (n * s.channels + c) * s.inner;
    for (int64_t i = 0; i < s.inner; i += kLanes) {
      const int64_t count = Min(kLanes, s.inner - i);
      StorePartial(a.y + base + i, Finish(a, base + i, count, factor, shift), count);
    }
  }
}

template <int NV, bool kWhole, class T>
void GradLanes(const BatchNormGradArgsOf<T>& args, int64_t c) {
  const BatchNormGradArgsOf<T> a = args;  // stores of vectors cannot change it
  const BatchNormShape& s = a.shape;
  const int64_t left = s.channels - c;
  Vec mean[NV], root[NV], factor[NV], shift[NV], sum[NV][2];
  TENON_UNROLL for (int v = 0; v < NV; ++v) {
    const int64_t at = c + v * kLanes, count = CountOf<NV>(left, v);
    mean[v] = LoadPartial(a.mean + at, count);
    root[v] = LoadPartial(a.inv_std + at, count);
    factor[v] = LoadPartial(a.scale + at, count) * root[v];
    shift[v] = a.bias == nullptr ? Zero() : LoadPartial(a.bias + at, count) - mean[v] * factor[v];
  }
  const auto count_of = [&](int v) { return kWhole ? kLanes : CountOf<NV>(left, v); };
  const auto place = [&](int64_t r, int v) { return r * s.channels + c + v * kLanes; };
  SumRows<2, NV>(
      s.outer,
      [&](int64_t r, int v, Vec(&t)[2]) {
        const Vec x = LoadPartial(a.x + place(r, v), count_of(v));
        t[0] = Passed(a, place(r, v), count_of(v), x, factor[v], shift[v]);
        t[1] = t[0] * ((x - mean[v]) * root[v]);
      },
      sum);
  const Vec share = Set(a.training ? 1.0f / static_cast<float>(s.outer) : 0.0f);
  Vec b[NV], g[NV];
  TENON_UNROLL for (int v = 0; v < NV; ++v) {
    const int64_t at = c + v * kLanes, count = CountOf<NV>(left, v);
    StorePartial(a.d_bias + at, sum[v][0], count);
    StorePartial(a.d_scale + at, sum[v][1], count);
    b[v] = sum[v][0] * share;
    g[v] = sum[v][1] * share * root[v];
  }
  if (a.dx == nullptr && a.d_residual == nullptr) return;
  for (int64_t r = 0; r < s.outer; ++r) {
    TENON_UNROLL for (int v = 0; v < NV; ++v) {
      const int64_t at = place(r, v), count = count_of(v);
      const Vec x = LoadPartial(a.x + at, count), dy = Passed(a, at, count, x, factor[v], shift[v]);
      if (a.d_residual != nullptr) StorePartial(a.d_residual + at, dy, count);
      if (a.dx != nullptr) StorePartial(a.dx + at, factor[v] * (dy - b[v] - (x - mean[v]) * g[v]), count);
    }
  }
}

template <class T>
void GradPlanes(const BatchNormGradArgsOf<T>& a, int64_t c) {
  const BatchNormShape& s = a.shape;
  const float root = a.inv_std[c], f = a.scale[c] * root;
  const Vec mean = Set(a.mean[c]), factor = Set(f), shift = Set(a.bias == nullptr ? 0.0f : a.bias[c] - a.mean[c] * f);
  double sum[2];
  SumPlanes<2>(
      s, c,
      [&](int64_t at, int64_t count, Vec(&t)[2]) {
        t[0] = Passed(a, at, count, LoadPartial(a.x + at, count), factor, shift);
        t[1] = t[0] * Centred(a.x + at, count, mean) * Set(root);
      },
      sum);
  a.d_bias[c] = static_cast<float>(sum[0]);
  a.d_scale[c] = static_cast<float>(sum[1]);
  if (a.dx == nullptr && a.d_residual == nullptr) return;
  const double share = a.training ? 1.0 / static_cast<double>(s.outer * s.inner) : 0.0;
  const Vec b = Set(static_cast<float>(sum[0] * share));
  const Vec g = Set(static_cast<float>(sum[1] * share * static_cast<double>(root)));
  for (int64_t n = 0; n < s.outer; ++n) {
    const int64_t base = (n * s.channels + c) * s.inner;
    for (int64_t i = 0; i < s.inner; i += kLanes) {
      const int64_t at = base + i, count = Min(kLanes, s.inner - i);
      const Vec x = LoadPartial(a.x + at, count), dy = Passed(a, at, count, x, factor, shift);
      if (a.d_residual != nullptr) StorePartial(a.d_residual + at, dy, count);
      if (a.dx != nullptr) StorePartial(a.dx + at, factor * (dy - b - (x - mean) * g), count);
    }
  }
}

// Calls lanes(first channel, NV, whole) or planes(channel) for every channel.
template <class L, class P>
TENON_INLINE void Channels(const BatchNormShape& s, const Parallel& pool, const L& lanes, const P& planes) {
  const bool last = s.inner == 1;
  const int64_t vectors = s.channels > 2 * kLanes ? 4 : s.channels > kLanes ? 2 : 1, width = vectors * kLanes;
  const int64_t units = last ? CeilDiv(s.channels, width) : s.channels;
  const int64_t pieces = Pieces(pool, units, 0.5 * static_cast<double>(s.outer * s.channels * s.inner));
  ForEach(pool, pieces, [&](int64_t i) {
    const Range r = Piece(units, pieces, i);
    for (int64_t u = r.begin; u < r.end; ++u) {
      const int64_t c = u * width;
      const bool whole = c + width <= s.channels;
      if (!last)
        planes(u);
      else if (vectors == 4)
        whole ? lanes(c, Int<4>{}, Bool<true>{}) : lanes(c, Int<4>{}, Bool<false>{});
      else if (vectors == 2)
        whole ? lanes(c, Int<2>{}, Bool<true>{}) : lanes(c, Int<2>{}, Bool<false>{});
      else
        whole ? lanes(c, Int<1>{}, Bool<true>{}) : lanes(c, Int<1>{}, Bool<false>{});
    }
  });
}

}  // namespace

template <class T>
void BatchNormStats(const BatchNormStatsArgsOf<T>& a, const Parallel& pool) {
  Channels(
      a.shape, pool,
      [&](int64_t c, auto nv, auto whole) { StatsOfLanes<decltype(nv)::value, decltype(whole)::value>(a, c); },
      [&](int64_t c) { StatsOfPlanes(a, c); });
}
template <class T>
void BatchNormApply(const BatchNormApplyArgsOf<T>& a, const Parallel& pool) {
  Channels(
      a.shape, pool,
      [&](int64_t c, auto nv, auto whole) { ApplyLanes<decltype(nv)::value, decltype(whole)::value>(a, c); },
      [&](int64_t c) { ApplyPlanes(a, c); });
}
template <class T>
void BatchNormGrad(const BatchNormGradArgsOf<T>& a, const Parallel& pool) {
  Channels(
      a.shape, pool,
      [&](int64_t c, auto nv, auto whole) { GradLanes<decltype(nv)::value, decltype(whole)::value>(a, c); },
      [&](int64_t c) { GradPlanes(a, c); });
}

template void BatchNormStats(const BatchNormStatsArgsOf<float>&, const Parallel&);
template void BatchNormStats(const BatchNormStatsArgsOf<Bf16>&, const Parallel&);
template void BatchNormApply(const BatchNormApplyArgsOf<float>&, const Parallel&);
template void BatchNormApply(const BatchNormApplyArgsOf<Bf16>&, const Parallel&);
template void BatchNormGrad(const BatchNormGradArgsOf<float>&, const Parallel&);
template void BatchNormGrad(const BatchNormGradArgsOf<Bf16>&, const Parallel&);

}  // namespace tenon::cpu::TENON_CPU_ISA
