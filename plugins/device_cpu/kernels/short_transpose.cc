#include "plugins/device_cpu/kernels/short_transpose.h"

#include <algorithm>

namespace tenon::cpu {
namespace {

constexpr int64_t kSide = 8;
// Rows at a time: a line of the cache of y is written at once.
constexpr int64_t kRows = 32;

typedef uint16_t Shorts __attribute__((vector_size(16)));
typedef uint16_t ShortsAny __attribute__((vector_size(16), aligned(2), may_alias));

// A square: three times row i is woven with row i + 4, which turns the bits of (row, lane) by one each time.
void TransposeSquare(const uint16_t* x, int64_t x_row, uint16_t* y, int64_t y_row) {
  Shorts v[kSide], w[kSide];
  for (int64_t i = 0; i < kSide; ++i) v[i] = *reinterpret_cast<const ShortsAny*>(x + i * x_row);
  for (int step = 0; step < 3; ++step) {
    for (int i = 0; i < 4; ++i) {
      w[2 * i] = __builtin_shufflevector(v[i], v[i + 4], 0, 8, 1, 9, 2, 10, 3, 11);
      w[2 * i + 1] = __builtin_shufflevector(v[i], v[i + 4], 4, 12, 5, 13, 6, 14, 7, 15);
    }
    std::copy_n(w, kSide, v);
  }
  for (int64_t i = 0; i < kSide; ++i) *reinterpret_cast<ShortsAny*>(y + i * y_row) = v[i];
}

void TransposePart(const uint16_t* x, int64_t rows, int64_t columns, uint16_t* y, int64_t y_row) {
  const int64_t whole_rows = rows / kSide * kSide, whole_columns = columns / kSide * kSide;
  for (int64_t c = 0; c < whole_columns; c += kSide)
    for (int64_t r = 0; r < whole_rows; r += kSide)
      TransposeSquare(x + r * columns + c, columns, y + c * y_row + r, y_row);
  for (int64_t c = 0; c < columns; ++c)
    for (int64_t r = c < whole_columns ? whole_rows : 0; r < rows; ++r) y[c * y_row + r] = x[r * columns + c];
}

}  // namespace

void TransposeShorts(int64_t batch, int64_t rows, int64_t columns, const uint16_t* x, uint16_t* y) {
  for (int64_t b = 0; b < batch; ++b, x += rows * columns, y += rows * columns)
    for (int64_t r = 0; r < rows; r += kRows)
      TransposePart(x + r * columns, std::min(kRows, rows - r), columns, y + r, rows);
}

}  // namespace tenon::cpu
