#pragma once

#include <cmath>
#include <vector>

#include "core/ops/elementwise.h"
#include "core/ops/op_def.h"

namespace tenon {

// The groups of elements that Softmax, LogSoftmax and their gradients normalise: a tensor seen as [outer, extent, inner],
// a group along the middle.
struct SoftmaxRows {
  std::int64_t outer = 1, extent = 1, inner = 1;

  // Reads each group of x, lets fn(row) change it and writes it to y.
  template <class T, class Fn>
  void Each(const T* x, T* y, Fn fn) const {
    EachPair(x, x, y, [&](std::vector<Accumulator<T>>& row, const std::vector<Accumulator<T>>&) { fn(row); });
  }
  // The same for groups of two tensors: fn(row of a, row of b).
  template <class T, class Fn>
  void EachPair(const T* a, const T* b, T* y, Fn fn) const {
    using A = Accumulator<T>;
    std::vector<A> row(static_cast<std::size_t>(extent)), other(row.size());
    if (extent == 0) return;
    for (std::int64_t o = 0; o < outer; ++o) {
      for (std::int64_t i = 0; i < inner; ++i) {
        const std::int64_t base = o * extent * inner + i;
        for (std::size_t k = 0; k < row.size(); ++k) {
          const std::int64_t at = base + static_cast<std::int64_t>(k) * inner;
          row[k] = static_cast<A>(a[at]);
          other[k] = static_cast<A>(b[at]);
        }
        fn(row, other);
        for (std::size_t k = 0; k < row.size(); ++k) {
          y[base + static_cast<std::int64_t>(k) * inner] = static_cast<T>(row[k]);
        }
      }
    }
  }
};

// `flattened`: all dims from axis on are one group (ONNX before opset 13); axis may then equal the rank.
inline Result<SoftmaxRows> SoftmaxRowsOf(const Attributes& attrs, const Shape& shape, bool flattened) {
  SoftmaxRows rows;
  const std::int64_t given = attrs.Int("axis");
  int axis = shape.rank();
  if (!flattened || given != shape.rank()) {
    TENON_ASSIGN(axis, NormalizeAxis(given, shape.rank()));
  }
  for (int i = 0; i < axis; ++i) rows.outer *= shape[i];
  for (int i = axis; i < shape.rank(); ++i) (flattened || i == axis ? rows.extent : rows.inner) *= shape[i];
  return rows;
}

inline Status InferSoftmax(InferContext& context, bool flattened) {
  const int rank = context.shape(0).rank();
  const std::int64_t axis = context.attrs().Int("axis");
  if (!flattened || axis != rank) TENON_TRY(NormalizeAxis(axis, rank));
  return InferSameAsFirst(context);
}

// Of the gradients, whose attribute tells which form of Softmax they belong to.
inline bool IsFlattened(const Attributes& attrs) { return attrs.Int("flattened") != 0; }

inline Status InferSoftmaxGrad(InferContext& context) {
  TENON_TRY(InferSoftmax(context, IsFlattened(context.attrs())));
  return InferSameShapes(context);
}

inline Value SumAlong(GradBuilder& b, Value x, std::int64_t axis) {
  const std::int64_t axes[] = {axis};
  return b.Op("ReduceSum", {x, b.Ints(axes)});
}

// The greatest value, NaN if there is one.
template <class A>
A Greatest(const std::vector<A>& row) {
  A top = row[0];
  for (const A value : row) {
    if (value > top || std::isnan(value)) top = value;
  }
  return top;
}

}  // namespace tenon
