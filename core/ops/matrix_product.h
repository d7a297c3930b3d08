#pragma once

#include <cstdint>

#include "core/ops/elementwise.h"

namespace tenon {

// A matrix as its elements are read: element (r, c) lies at r * row_stride + c * column_stride.
template <class T>
struct MatrixView {
  const T* data;
  std::int64_t row_stride;
  std::int64_t column_stride;
};

// Calls put(r, c, sum over k of a(r, k) * b(k, c)); sums are kept in Accumulator<T>, integers wrap.
template <class T, class Put>
void MatrixProduct(const MatrixView<T>& a, const MatrixView<T>& b, std::int64_t rows, std::int64_t inner,
                   std::int64_t columns, Put put) {
  using A = Accumulator<T>;
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < columns; ++c) {
      const T* pa = a.data + r * a.row_stride;
      const T* pb = b.data + c * b.column_stride;
      A sum{0};
      for (std::int64_t k = 0; k < inner; ++k) {
        const A product = Combine(static_cast<A>(pa[k * a.column_stride]), static_cast<A>(pb[k * b.row_stride]),
                                  [](auto x, auto y) { return x * y; });
        sum = Combine(sum, product, [](auto x, auto y) { return x + y; });
      }
      put(r, c, sum);
    }
  }
}

}  // namespace tenon
