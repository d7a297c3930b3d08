// Softmax over rows, and its gradient.
#pragma once

#include <cstdint>

namespace tenon::cpu {

// y[r][c] = softmax or log-softmax of the row; x and y [rows][columns] row-major, may be the same memory.
struct SoftmaxArgs {
  int64_t rows = 0, columns = 0;
  const float* x = nullptr;
  float* y = nullptr;
  bool log = false;
};
// dx from y (the forward result) and dy; dx may be dy.
struct SoftmaxGradArgs {
  int64_t rows = 0, columns = 0;
  const float* y = nullptr;
  const float* dy = nullptr;
  float* dx = nullptr;
  bool log = false;
};

}  // namespace tenon::cpu
