#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/tensor/shape.h"

namespace tenon {

// Strides in elements with which an operand of shape `operand` is read while an output of shape `out` is walked:
// 0 along the axes along which it is repeated (numpy broadcasting).
inline std::array<std::int64_t, kMaxRank> BroadcastStrides(const Shape& operand, const Shape& out) {
  const auto own = ContiguousStrides(operand);
  std::array<std::int64_t, kMaxRank> strides{};
  const int lead = out.rank() - operand.rank();
  for (int axis = 0; axis < operand.rank(); ++axis) {
    if (operand[axis] != 1) strides[static_cast<std::size_t>(axis + lead)] = own[static_cast<std::size_t>(axis)];
  }
  return strides;
}

// Visits the elements of a shape in row-major order and calls fn(i, offsets): i counts 0, 1, 2, ...; offsets[k] is the
// sum of index * strides[k].
template <std::size_t N, class Fn>
void ForEachStrided(const Shape& out, const std::array<std::array<std::int64_t, kMaxRank>, N>& strides, Fn fn) {
  const std::int64_t count = out.elements();
  std::array<std::int64_t, kMaxRank> index{};
  std::array<std::int64_t, N> offsets{};
  for (std::int64_t i = 0; i < count; ++i) {
    fn(i, offsets);
    for (int axis = out.rank() - 1; axis >= 0; --axis) {
      const auto a = static_cast<std::size_t>(axis);
      const bool carry = ++index[a] == out[axis];
      for (std::size_t k = 0; k < N; ++k) offsets[k] += carry ? -strides[k][a] * (index[a] - 1) : strides[k][a];
      if (!carry) break;
      index[a] = 0;
    }
  }
}

// As ForEachStrided for two operands that broadcast to `out`: fn(i, offset of a, offset of b).
template <class Fn>
void ForEachBroadcast(const Shape& out, const Shape& a, const Shape& b, Fn fn) {
  if (a == out && b == out) {
    const std::int64_t count = out.elements();
    for (std::int64_t i = 0; i < count; ++i) fn(i, i, i);
    return;
  }
  ForEachStrided<2>(out, {BroadcastStrides(a, out), BroadcastStrides(b, out)},
                    [&](std::int64_t i, const std::array<std::int64_t, 2>& at) { fn(i, at[0], at[1]); });
}

}  // namespace tenon
