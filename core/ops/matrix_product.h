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

// Operands seen as stacks of matrices, and the product's shape before vectors lose their dimension.
template <class S>
struct Stacks {
  S a, b, product;
  bool row = false, column = false;  // A, B was a vector
};

template <class S>
Result<Stacks<S>> StacksOf(const S& a, const S& b) {
  TENON_INVALID_IF(a.rank() == 0 || b.rank() == 0, "MatMul multiplies tensors of rank 1 or more; A is {}, B is {}.", a,
                   b);
  Stacks<S> out;
  out.row = a.rank() == 1;
  out.column = b.rank() == 1;
  if (out.row) out.a.push_back(1);
  for (const auto dim : a.dims()) out.a.push_back(dim);
  for (const auto dim : b.dims()) out.b.push_back(dim);
  if (out.column) out.b.push_back(1);
  const int ra = out.a.rank(), rb = out.b.rank();
  TENON_INVALID_IF(!(out.a[ra - 1] == out.b[rb - 2]),
                   "Inner dimension of A ({}) is not equal to that of B ({}): {} x {}.", out.a[ra - 1], out.b[rb - 2],
                   a, b);
  S batch_a, batch_b;
  for (int axis = 0; axis < ra - 2; ++axis) batch_a.push_back(out.a[axis]);
  for (int axis = 0; axis < rb - 2; ++axis) batch_b.push_back(out.b[axis]);
  TENON_ASSIGN(out.product, Broadcast(batch_a, batch_b));
  out.product.push_back(out.a[ra - 2]);
  out.product.push_back(out.b[rb - 1]);
  return out;
}

// The product's shape: a vector on the left is a row, on the right a column, and its dimension vanishes.
inline Result<SymShape> ProductShape(const SymShape& a, const SymShape& b) {
  TENON_ASSIGN(const auto stacks, StacksOf(a, b));
  SymShape out;
  const int rank = stacks.product.rank();
  for (int axis = 0; axis < rank; ++axis) {
    if ((axis == rank - 2 && stacks.row) || (axis == rank - 1 && stacks.column)) continue;
    out.push_back(stacks.product[axis]);
  }
  return out;
}

inline Shape BatchOf(const Shape& stack) {
  return Shape(stack.dims().first(static_cast<std::size_t>(stack.rank() - 2)));
}

}  // namespace tenon
