// Sums of squares in double precision.
#pragma once

#include <cstdint>

namespace tenon::cpu {

constexpr int64_t kSquaresBlock = 16384;  // elements of one partial sum
constexpr int64_t SquaresSums(int64_t count) { return (count + kSquaresBlock - 1) / kSquaresBlock; }

// Returns the sum of x^2. `sums` has SquaresSums(count) numbers.
struct SquaresArgs {
  int64_t count = 0;
  const float* x = nullptr;
  double* sums = nullptr;
};

}  // namespace tenon::cpu
