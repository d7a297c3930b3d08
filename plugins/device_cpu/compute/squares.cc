#include "plugins/device_cpu/compute/squares.h"

#include "plugins/device_cpu/compute/isa_functions.h"
#include "plugins/device_cpu/compute/vec.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

constexpr int64_t kHalf = kLanes / 2;
typedef float Half __attribute__((vector_size(kHalf * 4), aligned(4), may_alias));
typedef double Doubles __attribute__((vector_size(kHalf * 8)));

double SumBlock(const float* x, int64_t count) {
  constexpr int kSums = 4;
  Doubles sums[kSums] = {};
  int64_t i = 0;
  for (; i + kSums * kHalf <= count; i += kSums * kHalf) {
    TENON_UNROLL for (int k = 0; k < kSums; ++k) {
      const Doubles v = __builtin_convertvector(*reinterpret_cast<const Half*>(x + i + k * kHalf), Doubles);
      sums[k] += v * v;
    }
  }
  const Doubles all = sums[0] + sums[1] + (sums[2] + sums[3]);
  double sum = 0;
  for (int k = 0; k < kHalf; ++k) sum += all[k];
  for (; i < count; ++i) sum += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  return sum;
}

}  // namespace

double SumOfSquares(const SquaresArgs& a, const Parallel& pool) {
  const int64_t blocks = SquaresSums(a.count), pieces = Pieces(pool, blocks, 0.2 * static_cast<double>(a.count));
  ForEach(pool, pieces, [&](int64_t i) {
    const Range own = Piece(blocks, pieces, i);
    for (int64_t b = own.begin; b < own.end; ++b)
      a.sums[b] = SumBlock(a.x + b * kSquaresBlock, Min(kSquaresBlock, a.count - b * kSquaresBlock));
  });
  double sum = 0;
  for (int64_t b = 0; b < blocks; ++b) sum += a.sums[b];
  return sum;
}

}  // namespace tenon::cpu::TENON_CPU_ISA
