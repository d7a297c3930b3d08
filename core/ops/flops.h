#pragma once

#include "core/ops/op_def.h"

namespace tenon {

// Floating-point operations of operators that do not do one for each element: two for a multiply-add.

// For operators that only move or make elements.
inline Dim NoFlops(const FlopArgs&) { return 0; }

// A convolution, or one of its gradients: every element of `image` meets one filter. Shapes: image [N, M, D1 ..], filter
// [M, ..]; either may be null.
inline Dim ConvFlops(const SymShape* image, const SymShape* filter) {
  if (image == nullptr || filter == nullptr || filter->rank() == 0 || (*filter)[0].Is(0)) return 0;
  return Dim(2) * image->Elements() * FloorDiv(filter->Elements(), (*filter)[0]);
}

// Of matrices, input 0 being the left one.
inline Dim ProductFlops(const FlopArgs& args) {
  const SymShape *a = args.input(0), *y = args.output(0);
  if (a == nullptr || y == nullptr || a->rank() == 0) return 0;
  const bool transposed = args.attrs.Int("transA", 0) != 0;
  return Dim(2) * y->Elements() * (*a)[transposed ? 0 : a->rank() - 1];
}

}  // namespace tenon
