// Reductions over groups of axes.
#pragma once

#include <cstdint>

namespace tenon::cpu {

enum class ReduceOp : uint32_t {
  kSum,
  kMean,
  kMax,
  kMin,
  kSumSquare,
  kL2,        // the root of the sum of squares
  kLogSumExp  // f32, and r0 or r1 is 1
};

// y[k0][k1] = over r0, r1 of x[k0][r0][k1][r1], dense. Every reduction over one or two blocks of neighbouring axes has this
// form, with sizes of 1 where it has less. The maximum of nothing is -infinity, the
// minimum infinity; NaN wins in both.
template <class T>
struct ReduceArgsOf {
  ReduceOp op = ReduceOp::kSum;
  int64_t k0 = 1, r0 = 1, k1 = 1, r1 = 1;
  const T* x = nullptr;
  T* y = nullptr;
};
using ReduceArgs = ReduceArgsOf<float>;

}  // namespace tenon::cpu
