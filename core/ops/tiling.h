#pragma once

#include <array>
#include <cstdint>

#include "core/tensor/shape.h"

namespace tenon {

// Calls fn(i, source) for every element i of a tensor of shape `tiled` in row-major order with the element of the tensor
// of shape `x` that it repeats: every coordinate modulo x's extent. Shared by Tile and its gradient.
template <class Fn>
void ForEachTiled(const Shape& tiled, const Shape& x, Fn fn) {
  const auto strides = ContiguousStrides(x);
  std::array<std::int64_t, kMaxRank> index{};
  const std::int64_t count = tiled.elements();
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t source = 0;
    for (int axis = 0; axis < x.rank(); ++axis) {
      const auto a = static_cast<std::size_t>(axis);
      source += index[a] % x[axis] * strides[a];
    }
    fn(i, source);
    for (int axis = tiled.rank() - 1; axis >= 0; --axis) {
      const auto a = static_cast<std::size_t>(axis);
      if (++index[a] < tiled[axis]) break;
      index[a] = 0;
    }
  }
}

}  // namespace tenon
