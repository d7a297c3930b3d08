// Softmax over rows, and the loss that follows it.
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

// Labels are int32 or int64, already checked: in [0, columns) or equal to ignore_index when that is used.
struct CrossEntropyArgs {
  int64_t rows = 0, columns = 0;
  const float* scores = nullptr;
  const int32_t* labels32 = nullptr;  // one of the two
  const int64_t* labels64 = nullptr;
  bool use_ignore = false;
  int64_t ignore_index = -1;
  float* row_loss = nullptr;  // [rows]: -log softmax(scores)[label], 0 for ignored rows; or null
  float* log_prob = nullptr;  // [rows][columns] or null
  float* d_scores = nullptr;  // [rows][columns] or null: (softmax - one hot) * scale, 0 for ignored rows
  float scale = 1.0f;
  const float* row_scale = nullptr;  // [rows] further factor of d_scores, or null
};
// d_scores from log_prob.
struct CrossEntropyGradArgs {
  int64_t rows = 0, columns = 0;
  const float* log_prob = nullptr;
  const int32_t* labels32 = nullptr;
  const int64_t* labels64 = nullptr;
  bool use_ignore = false;
  int64_t ignore_index = -1;
  float scale = 1.0f;
  const float* row_scale = nullptr;
  float* d_scores = nullptr;
};

}  // namespace tenon::cpu
