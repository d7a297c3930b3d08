#include "plugins/device_cpu/compute/layer_norm.h"

#include "plugins/device_cpu/compute/column_sums.h"
#include "plugins/device_cpu/compute/isa_functions.h"
#include "plugins/device_cpu/compute/math.h"
#include "plugins/device_cpu/compute/row_sums.h"
#include "plugins/device_cpu/compute/vec.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

template <class T>
TENON_INLINE const T* AddRow(const LayerNormArgsOf<T>& a, int64_t r, T* to) {
  const T *x = a.x + r * a.columns, *more = a.addend + r * a.columns;
  for (int64_t c = 0; c < a.columns; c += kLanes) {
    const int64_t count = Min(kLanes, a.columns - c);
    StorePartial(to + c, LoadPartial(x + c, count) + LoadPartial(more + c, count), count);
  }
  return to;
}

struct Statistics {
  float mean, inv_std;
};
template <class T>
TENON_INLINE Statistics StatisticsOf(const T* x, int64_t n, float epsilon) {
  const float share = 1.0f / static_cast<float>(n);
  const float mean = SumOver(n, [&](int64_t c, int64_t count) { return LoadPartial(x + c, count); }) * share;
  const float squares = SumOver(n, [&](int64_t c, int64_t count) {
    const Vec d = FirstLanes(LoadPartial(x + c, count) - Set(mean), count);
    return d * d;
  });
  return {mean, 1.0f / Sqrt(Set(squares * share + epsilon))[0]};
}

template <class T>
void NormRow(const LayerNormArgsOf<T>& a, int64_t r) {
  const int64_t n = a.columns;
  T* y = a.y + r * n;
  const T* x = a.addend == nullptr ? a.x + r * n : AddRow(a, r, a.sum != nullptr ? a.sum + r * n : y);
  const Statistics of = StatisticsOf(x, n, a.epsilon);
  const Vec mean = Set(of.mean), inv_std = Set(of.inv_std);
  for (int64_t c = 0; c < n; c += kLanes) {
    const int64_t count = Min(kLanes, n - c);
    Vec v = (LoadPartial(x + c, count) - mean) * inv_std * LoadPartial(a.scale + c, count);
    if (a.bias != nullptr) v += LoadPartial(a.bias + c, count);
    StorePartial(y + c, v, count);
  }
  if (a.mean != nullptr) a.mean[r] = of.mean;
  if (a.inv_std != nullptr) a.inv_std[r] = of.inv_std;
}

// Gradient of one row; adds to the column sums of its part.
template <class T>
void GradRow(const LayerNormGradArgsOf<T>& a, int64_t r, float* d_scale, float* d_bias) {
  const int64_t n = a.columns;
  const T *dy = a.dy + r * n, *x = a.x + r * n;
  const Statistics of = a.mean != nullptr ? Statistics{a.mean[r], a.inv_std[r]} : StatisticsOf(x, n, a.epsilon);
  const Vec mean = Set(of.mean), inv_std = Set(of.inv_std);
  Vec sum = Zero(), dot = Zero();
  for (int64_t c = 0; c < n; c += kLanes) {
    const int64_t count = Min(kLanes, n - c);
    const Vec d = LoadPartial(dy + c, count), g = d * LoadPartial(a.scale + c, count);
    const Vec xhat = (LoadPartial(x + c, count) - mean) * inv_std;
    sum += g;
    dot += g * xhat;
    AddTo(d_scale + c, d * xhat, count);
    AddTo(d_bias + c, d, count);
  }
  if (a.dx == nullptr) return;
  const float share = 1.0f / static_cast<float>(n);
  const Vec mean_g = Set(SumLanes(sum) * share), mean_dot = Set(SumLanes(dot) * share);
  for (int64_t c = 0; c < n; c += kLanes) {
    const int64_t count = Min(kLanes, n - c);
    const Vec g = LoadPartial(dy + c, count) * LoadPartial(a.scale + c, count);
    const Vec xhat = (LoadPartial(x + c, count) - mean) * inv_std;
    Vec dx = inv_std * (g - (mean_g + xhat * mean_dot));
    if (a.addend != nullptr) dx += LoadPartial(a.addend + r * n + c, count);
    StorePartial(a.dx + r * n + c, dx, count);
  }
}

}  // namespace

template <class T>
void LayerNorm(const LayerNormArgsOf<T>& a, const Parallel& pool) {
  const int64_t pieces = Pieces(pool, a.rows, 0.4 * static_cast<double>(a.rows * a.columns));
  ForEach(pool, pieces, [&](int64_t i) {
    const Range rows = Piece(a.rows, pieces, i);
    for (int64_t r = rows.begin; r < rows.end; ++r) NormRow(a, r);
  });
}

template <class T>
int64_t LayerNormGradWorkspace(const LayerNormGradArgsOf<T>& a) {
  return 2 * PartsOf(a.rows) * RoundUp(a.columns, 16) * static_cast<int64_t>(sizeof(float));
}

template <class T>
void LayerNormGrad(const LayerNormGradArgsOf<T>& a, float* workspace, const Parallel& pool) {
  const int64_t parts = PartsOf(a.rows), stride = RoundUp(a.columns, 16);
  const int64_t pieces = Pieces(pool, parts, 0.8 * static_cast<double>(a.rows * a.columns));
  ForEach(pool, pieces, [&](int64_t i) {
    const Range own = Piece(parts, pieces, i);
    for (int64_t p = own.begin; p < own.end; ++p) {
      float *d_scale = workspace + 2 * p * stride, *d_bias = d_scale + stride;
      ClearSums(d_scale, 2 * stride);
      const Range rows = RowsOfPart(a.rows, p);
      for (int64_t r = rows.begin; r < rows.end; ++r) GradRow(a, r, d_scale, d_bias);
    }
  });
  if (a.d_scale != nullptr) SumParts(workspace, parts, 2 * stride, a.columns, a.d_scale);
  if (a.d_bias != nullptr) SumParts(workspace + stride, parts, 2 * stride, a.columns, a.d_bias);
}

template void LayerNorm(const LayerNormArgsOf<float>&, const Parallel&);
template void LayerNorm(const LayerNormArgsOf<Bf16>&, const Parallel&);
template int64_t LayerNormGradWorkspace(const LayerNormGradArgsOf<float>&);
template int64_t LayerNormGradWorkspace(const LayerNormGradArgsOf<Bf16>&);
template void LayerNormGrad(const LayerNormGradArgsOf<float>&, float*, const Parallel&);
template void LayerNormGrad(const LayerNormGradArgsOf<Bf16>&, float*, const Parallel&);

}  // namespace tenon::cpu::TENON_CPU_ISA
