// Rows of a table by number, copies of strided pieces, and dropout.
#pragma once

#include <cstdint>

namespace tenon::cpu {

// y[i] = table[index[i]] for rows of `width` floats. Indices are checked already, from 0.
struct GatherArgs {
  int64_t count = 0, rows = 0, width = 0;
  const int64_t* index = nullptr;
  const float* table = nullptr;
  float* y = nullptr;
};
// d_table = zeros, plus dy[i] at row index[i] in the order of i.
struct GatherGradArgs {
  int64_t count = 0, rows = 0, width = 0;
  const int64_t* index = nullptr;
  const float* dy = nullptr;
  float* d_table = nullptr;
};

// Rows of `width` bytes from one stride, in bytes, to another.
struct CopyRowsArgs {
  int64_t rows = 0, width = 0;
  const char* from = nullptr;
  int64_t from_row = 0;
  char* to = nullptr;
  int64_t to_row = 0;
};

// y[i] = x[i] scaled by 1 / (1 - ratio) where word i of (key, offset) keeps it, else 0; kept (null: not wanted) gets 1 or 0.
// y may be x.
struct DropoutArgs {
  int64_t count = 0;
  double ratio = 0;
  uint64_t key = 0, offset = 0;
  const float* x = nullptr;
  float* y = nullptr;
  uint8_t* kept = nullptr;
};
// dx[i] = kept[i] ? dy[i] * scale : 0.
struct DropoutGradArgs {
  int64_t count = 0;
  float scale = 1.0f;
  const uint8_t* kept = nullptr;
  const float* dy = nullptr;
  float* dx = nullptr;
};

}  // namespace tenon::cpu
