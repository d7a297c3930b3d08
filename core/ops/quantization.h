#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/ops/op_def.h"

namespace tenon {

// A quantised tensor holds whole numbers q that stand for scale * (q - zero point). Scale and zero point are one for the
// tensor, or one for each slice along an axis.

inline constexpr TypeSet kByteTypes = {DType::kI8, DType::kU8};

inline bool IsOne(const SymShape& shape) {
  return shape.rank() == 0 || (shape.rank() == 1 && shape[0].known() && shape[0].value() == 1);
}

// Is `shape` that of one number, or of one for each of `slices`?
inline Status CheckQuantity(std::string_view what, const SymShape& shape, Dim slices) {
  TENON_INVALID_IF(!IsOne(shape) && !(shape == SymShape{slices}),
                   "{} has shape {}; it is one number, or one for each of the {} slices.", what, shape, slices);
  return {};
}

// Numbers of any numeric tensor as T; nothing when it is absent.
template <class T>
std::vector<T> NumbersOf(const Tensor& tensor) {
  std::vector<T> numbers;
  if (!tensor.defined()) return numbers;
  ForNumeric(tensor.dtype(), [&]<class E>() {
    const E* first = tensor.data<E>();
    for (std::int64_t i = 0; i < tensor.elements(); ++i)
      numbers.push_back(static_cast<T>(static_cast<double>(first[i])));
  });
  return numbers;
}

// Entry i of a list of one or many; 0 when there is none.
template <class T>
T EntryOf(const std::vector<T>& numbers, std::int64_t i) {
  if (numbers.empty()) return T{};
  return numbers[numbers.size() == 1 ? 0 : static_cast<std::size_t>(i)];
}

// Which slice along `axis` an element belongs to; always 0 where there is one scale.
class SliceWalk {
 public:
  SliceWalk(const Shape& shape, std::int64_t scales, std::int64_t axis) {
    if (scales <= 1) return;
    const int at = static_cast<int>(axis < 0 ? axis + shape.rank() : axis);
    slices_ = shape[at];
    for (int i = at + 1; i < shape.rank(); ++i) inner_ *= shape[i];
  }
  std::int64_t SliceOf(std::int64_t element) const { return element / inner_ % slices_; }

 private:
  std::int64_t slices_ = 1, inner_ = 1;
};

// The whole number nearest to x, halves to even, plus the zero point, within the range of Q.
template <class Q>
Q Quantized(float x, std::int32_t zero_point) {
  const double shifted = static_cast<double>(std::nearbyint(x)) + zero_point;
  const double low = static_cast<double>(std::numeric_limits<Q>::min());
  const double high = static_cast<double>(std::numeric_limits<Q>::max());
  return static_cast<Q>(std::clamp(shifted, low, high));
}

// An int32 sum of a quantised product in the units of its result. Both the definition and fast kernels multiply and divide
// in this order, in float32.
inline float Requantized(std::int32_t sum, float scale_a, float scale_b, float scale_y) {
  return static_cast<float>(sum) * (scale_a * scale_b / scale_y);
}

}  // namespace tenon
