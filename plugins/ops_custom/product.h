// Products of small matrices that lie in the caches, for loops that need them between other steps.
#pragma once

#include "plugins/ops_custom/vectors.h"

namespace tenon::ops::TENON_OPS_ISA {
namespace {

constexpr int kTileRows = 4, kTileVectors = kLanes == 16 ? 4 : 2;

// An operand that is read one number at a time: any strides.
struct Left {
  const float* data;
  int64_t row, column;
};
// Operands whose rows are contiguous.
struct Right {
  const float* data;
  int64_t row;
};
struct Result {
  float* data;
  int64_t row;
};

template <int kRows, int kVectors>
TENON_INLINE void ProductTile(int64_t inner, Left a, Right b, Result c, bool add) {
  Vec sum[kRows][kVectors];
  TENON_UNROLL for (int r = 0; r < kRows; ++r) {
    TENON_UNROLL for (int v = 0; v < kVectors; ++v) {
      sum[r][v] = Vec{};
      if (add) sum[r][v] = At(c.data + r * c.row + v * kLanes);
    }
  }
  for (int64_t i = 0; i < inner; ++i) {
    Vec row[kVectors];
    TENON_UNROLL for (int v = 0; v < kVectors; ++v) { row[v] = At(b.data + i * b.row + v * kLanes); }
    TENON_UNROLL for (int r = 0; r < kRows; ++r) {
      const float x = a.data[r * a.row + i * a.column];
      TENON_UNROLL for (int v = 0; v < kVectors; ++v) sum[r][v] += x * row[v];
    }
  }
  TENON_UNROLL for (int r = 0; r < kRows; ++r) {
    TENON_UNROLL for (int v = 0; v < kVectors; ++v) { At(c.data + r * c.row + v * kLanes) = sum[r][v]; }
  }
}

// Columns that fill no vector.
TENON_INLINE void ProductTail(int64_t rows, int64_t columns, int64_t inner, Left a, Right b, Result c, bool add) {
  for (int64_t r = 0; r < rows; ++r) {
    float sum[kLanes] = {};
    for (int64_t j = 0; add && j < columns; ++j) sum[j] = c.data[r * c.row + j];
    for (int64_t i = 0; i < inner; ++i) {
      const float x = a.data[r * a.row + i * a.column];
      for (int64_t j = 0; j < columns; ++j) sum[j] += x * b.data[i * b.row + j];
    }
    for (int64_t j = 0; j < columns; ++j) c.data[r * c.row + j] = sum[j];
  }
}

template <int kVectors>
TENON_INLINE void ProductStrip(int64_t rows, int64_t inner, Left a, Right b, Result c, bool add) {
  int64_t r = 0;
  for (; r + kTileRows <= rows; r += kTileRows) {
    ProductTile<kTileRows, kVectors>(inner, {a.data + r * a.row, a.row, a.column}, b, {c.data + r * c.row, c.row}, add);
  }
  for (; r < rows; ++r) {
    ProductTile<1, kVectors>(inner, {a.data + r * a.row, a.row, a.column}, b, {c.data + r * c.row, c.row}, add);
  }
}

// C = A B, or C += A B. A is [rows][inner], B [inner][columns]; C overlaps neither.
void Product(int64_t rows, int64_t columns, int64_t inner, Left a, Right b, Result c, bool add) {
  int64_t j = 0;
  for (; j + kTileVectors * kLanes <= columns; j += kTileVectors * kLanes) {
    ProductStrip<kTileVectors>(rows, inner, a, {b.data + j, b.row}, {c.data + j, c.row}, add);
  }
  for (; j + kLanes <= columns; j += kLanes) {
    ProductStrip<1>(rows, inner, a, {b.data + j, b.row}, {c.data + j, c.row}, add);
  }
  if (j < columns) ProductTail(rows, columns - j, inner, a, {b.data + j, b.row}, {c.data + j, c.row}, add);
}

}  // namespace
}  // namespace tenon::ops::TENON_OPS_ISA
