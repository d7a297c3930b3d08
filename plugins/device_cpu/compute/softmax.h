// Softmax along an axis, and its gradient.
#pragma once

#include <cstdint>

namespace tenon::cpu {

// y[r][c][i] = softmax or log-softmax over c; x and y [rows][columns][inner], may be the same memory.
struct SoftmaxArgs {
  int64_t rows = 0, columns = 0, inner = 1;
  const float* x = nullptr;
  float* y = nullptr;
  bool log = false;
};
// dx from y (the forward result) and dy; dx may be dy.
struct SoftmaxGradArgs {
  int64_t rows = 0, columns = 0, inner = 1;
  const float* y = nullptr;
  const float* dy = nullptr;
  float* dx = nullptr;
  bool log = false;
};

}  // namespace tenon::cpu
