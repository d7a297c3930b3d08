#include "plugins/device_cpu/compute/p_relu.h"

#include "plugins/device_cpu/compute/column_sums.h"
#include "plugins/device_cpu/compute/isa_functions.h"
#include "plugins/device_cpu/compute/math.h"
#include "plugins/device_cpu/compute/vec.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

constexpr int64_t kValuesOfABlock = 16384;  // of one channel, summed on their own

// Writes dx for `count` values and returns their part of d_slope; lanes behind the end are zero.
TENON_INLINE Vec GradOf(const PReluGradArgs& a, int64_t at, int64_t count, Vec slope) {
  const Vec dy = LoadPartial(a.dy + at, count), x = LoadPartial(a.x + at, count);
  const IVec above = x > Zero();
  if (a.dx != nullptr) StorePartial(a.dx + at, Select(above, dy, dy * slope), count);
  return Select(above, Zero(), dy * x);
}

TENON_INLINE int64_t BlocksOf(const PReluGradArgs& a) { return CeilDiv(a.inner, kValuesOfABlock); }

// Block b of row r; a row has one channel.
float GradBlock(const PReluGradArgs& a, int64_t row, int64_t b) {
  const Vec slope = Set(a.slope[row % a.channels]);
  const int64_t begin = row * a.inner + b * kValuesOfABlock, end = Min(begin + kValuesOfABlock, (row + 1) * a.inner);
  Vec sum[2] = {Zero(), Zero()};
  int64_t i = begin;
  for (; i + 2 * kLanes <= end; i += 2 * kLanes) {
    sum[0] += GradOf(a, i, kLanes, slope);
    sum[1] += GradOf(a, i + kLanes, kLanes, slope);
  }
  for (; i < end; i += kLanes) sum[0] += GradOf(a, i, end - i, slope);
  return SumLanes(sum[0] + sum[1]);
}

// Channels as neighbours: inner is 1.
void GradColumns(const PReluGradArgs& a, Range rows, float* sums) {
  ClearSums(sums, a.channels);
  for (int64_t c = 0; c < a.channels; c += kLanes) {
    const int64_t count = Min(kLanes, a.channels - c);
    const Vec slope = LoadPartial(a.slope + c, count);
    Vec sum = Zero();
    for (int64_t r = rows.begin; r < rows.end; ++r) sum += GradOf(a, r * a.channels + c, count, slope);
    StorePartial(sums + c, sum, count);
  }
}

TENON_INLINE double Nanoseconds(const PReluGradArgs& a) {
  return 0.4 * static_cast<double>(a.outer * a.channels * a.inner);
}

void GradOfColumns(const PReluGradArgs& a, float* workspace, const Parallel& pool) {
  const int64_t parts = PartsOf(a.outer), stride = RoundUp(a.channels, 16),
                pieces = Pieces(pool, parts, Nanoseconds(a));
  ForEach(pool, pieces, [&](int64_t i) {
    const Range own = Piece(parts, pieces, i);
    for (int64_t p = own.begin; p < own.end; ++p) GradColumns(a, RowsOfPart(a.outer, p), workspace + p * stride);
  });
  if (a.d_slope != nullptr) SumParts(workspace, parts, stride, a.channels, a.d_slope);
}

void GradOfBlocks(const PReluGradArgs& a, float* workspace, const Parallel& pool) {
  const int64_t blocks = BlocksOf(a), units = a.outer * a.channels * blocks;
  const int64_t pieces = Pieces(pool, units, Nanoseconds(a));
  ForEach(pool, pieces, [&](int64_t i) {
    const Range own = Piece(units, pieces, i);
    for (int64_t u = own.begin; u < own.end; ++u) workspace[u] = GradBlock(a, u / blocks, u % blocks);
  });
  for (int64_t c = 0; c < a.channels && a.d_slope != nullptr; ++c) {
    double sum = 0;
    for (int64_t o = 0; o < a.outer; ++o)
      for (int64_t b = 0; b < blocks; ++b) sum += static_cast<double>(workspace[(o * a.channels + c) * blocks + b]);
    a.d_slope[c] = static_cast<float>(sum);
  }
}

}  // namespace

int64_t PReluGradWorkspace(const PReluGradArgs& a) {
  const int64_t columns = PartsOf(a.outer) * RoundUp(a.channels, 16), blocks = a.outer * a.channels * BlocksOf(a);
  return (a.inner == 1 ? columns : blocks) * static_cast<int64_t>(sizeof(float));
}

void PReluGrad(const PReluGradArgs& a, float* workspace, const Parallel& pool) {
  if (a.inner == 1)
    GradOfColumns(a, workspace, pool);
  else
    GradOfBlocks(a, workspace, pool);
}

}  // namespace tenon::cpu::TENON_CPU_ISA
