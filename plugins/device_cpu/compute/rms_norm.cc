#include "plugins/device_cpu/compute/rms_norm.h"

#include "plugins/device_cpu/compute/column_sums.h"
#include "plugins/device_cpu/compute/isa_functions.h"
#include "plugins/device_cpu/compute/math.h"
#include "plugins/device_cpu/compute/row_sums.h"
#include "plugins/device_cpu/compute/vec.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

TENON_INLINE float InverseRms(const float* x, int64_t n, float epsilon) {
  const float squares = SumOver(n, [&](int64_t c, int64_t count) {
    const Vec v = LoadPartial(x + c, count);
    return v * v;
  });
  return 1.0f / Sqrt(Set(squares / static_cast<float>(n) + epsilon))[0];
}

void NormRow(const RmsNormArgs& a, int64_t r) {
  const int64_t n = a.columns;
  const float* x = a.x + r * n;
  const Vec inverse = Set(InverseRms(x, n, a.epsilon));
  for (int64_t c = 0; c < n; c += kLanes) {
    const int64_t count = Min(kLanes, n - c);
    StorePartial(a.y + r * n + c, LoadPartial(x + c, count) * inverse * LoadPartial(a.scale + c, count), count);
  }
}

// Gradient of one row; adds to the column sums of its part.
void GradRow(const RmsNormGradArgs& a, int64_t r, float* d_scale) {
  const int64_t n = a.columns;
  const float *dy = a.dy + r * n, *x = a.x + r * n;
  const Vec inverse = Set(InverseRms(x, n, a.epsilon));
  const float dot = SumOver(n, [&](int64_t c, int64_t count) {
    const Vec with_xhat = LoadPartial(dy + c, count) * (LoadPartial(x + c, count) * inverse);
    AddTo(d_scale + c, with_xhat, count);
    return with_xhat * LoadPartial(a.scale + c, count);
  });
  if (a.dx == nullptr) return;
  const Vec share = Set(dot / static_cast<float>(n));
  for (int64_t c = 0; c < n; c += kLanes) {
    const int64_t count = Min(kLanes, n - c);
    const Vec g = LoadPartial(dy + c, count) * LoadPartial(a.scale + c, count);
    StorePartial(a.dx + r * n + c, inverse * (g - LoadPartial(x + c, count) * inverse * share), count);
  }
}

}  // namespace

void RmsNorm(const RmsNormArgs& a, const Parallel& pool) {
  const int64_t pieces = Pieces(pool, a.rows, 0.3 * static_cast<double>(a.rows * a.columns));
  ForEach(pool, pieces, [&](int64_t i) {
    const Range rows = Piece(a.rows, pieces, i);
    for (int64_t r = rows.begin; r < rows.end; ++r) NormRow(a, r);
  });
}

int64_t RmsNormGradWorkspace(const RmsNormGradArgs& a) {
  return PartsOf(a.rows) * RoundUp(a.columns, 16) * static_cast<int64_t>(sizeof(float));
}

void RmsNormGrad(const RmsNormGradArgs& a, float* workspace, const Parallel& pool) {
  const int64_t parts = PartsOf(a.rows), stride = RoundUp(a.columns, 16);
  const int64_t pieces = Pieces(pool, parts, 0.6 * static_cast<double>(a.rows * a.columns));
  ForEach(pool, pieces, [&](int64_t i) {
    const Range own = Piece(parts, pieces, i);
    for (int64_t p = own.begin; p < own.end; ++p) {
      float* const d_scale = workspace + p * stride;
      ClearSums(d_scale, stride);
      const Range rows = RowsOfPart(a.rows, p);
      for (int64_t r = rows.begin; r < rows.end; ++r) GradRow(a, r, d_scale);
    }
  });
  if (a.d_scale != nullptr) SumParts(workspace, parts, stride, a.columns, a.d_scale);
}

}  // namespace tenon::cpu::TENON_CPU_ISA
