// Transposition of batches of matrices, which turns channel-first images into channel-last ones and back.
#pragma once

#include <cstdint>

namespace tenon::cpu {

// y[b][c][r] = x[b][r][c]; both dense, no overlap.
struct TransposeArgs {
  int64_t batch = 1, rows = 0, columns = 0;
  const float* x = nullptr;
  float* y = nullptr;
};

}  // namespace tenon::cpu
