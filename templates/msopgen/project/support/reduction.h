// Loops of reductions: the elements of one input along some axes become one element of the output.
//
// Op has Start, Combine, Finish and Slope (op_kernel/<op>.h).
#pragma once

#include <algorithm>

#include "support/arrays.h"

namespace support {

// The least and the greatest value of a type; infinite where there is one.
template <class T>
constexpr T Lowest() {
  return std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::min();
}
template <class T>
constexpr T Highest() {
  return std::numeric_limits<T>::has_infinity ? std::numeric_limits<T>::infinity() : std::numeric_limits<T>::max();
}

// Which axes of an input of this rank are reduced; none named means all. Negative axes count from the end.
inline std::vector<bool> ReducedAxes(const std::vector<int64_t>& axes, int64_t rank) {
  std::vector<bool> reduced(static_cast<size_t>(rank), axes.empty());
  for (const int64_t axis : axes) {
    const int64_t place = axis < 0 ? axis + rank : axis;
    if (place < 0 || place >= rank)
      throw tenon::sdk::Failure(TENON_INVALID_ARGUMENT, "Axis ", axis, " does not exist in an input of rank ", rank,
                                ".");
    reduced[static_cast<size_t>(place)] = true;
  }
  return reduced;
}

// Place in the output of every element of the input, in row-major order.
inline std::vector<int64_t> ReductionTargets(const Dims& dims, const std::vector<bool>& reduced) {
  Dims strides(dims.size(), 0);
  int64_t step = 1;
  for (size_t axis = dims.size(); axis-- > 0;) {
    if (reduced[axis]) continue;
    strides[axis] = step;
    step *= dims[axis];
  }
  std::vector<int64_t> targets(static_cast<size_t>(Elements(dims)));
  Dims index(dims.size(), 0);
  int64_t place = 0;
  for (int64_t& target : targets) {
    target = place;
    for (size_t axis = dims.size(); axis-- > 0;) {
      place += strides[axis];
      if (++index[axis] < dims[axis]) break;
      place -= strides[axis] * dims[axis];
      index[axis] = 0;
    }
  }
  return targets;
}

inline int64_t ReducedCount(const Dims& dims, const std::vector<bool>& reduced) {
  int64_t count = 1;
  for (size_t axis = 0; axis < dims.size(); ++axis) count *= reduced[axis] ? dims[axis] : 1;
  return count;
}

template <class Op, class T, class Attributes>
void RunReduction(const Attributes& attributes, const std::vector<int64_t>& axes, const Array<T>& x,
                  const Array<T>& y) {
  const std::vector<bool> reduced = ReducedAxes(axes, static_cast<int64_t>(x.dims.size()));
  const std::vector<int64_t> targets = ReductionTargets(x.dims, reduced);
  const int64_t count = ReducedCount(x.dims, reduced);
  std::fill(y.data, y.data + y.size(), Op::template Start<T>(attributes));
  for (size_t i = 0; i < targets.size(); ++i) {
    T& sum = y.data[targets[i]];
    sum = Op::Combine(sum, x.data[i], attributes);
  }
  for (int64_t i = 0; i < y.size(); ++i) y.data[i] = Op::Finish(y.data[i], count, attributes);
}

// dx = dy * Slope, with the result computed again.
template <class Op, class T, class Attributes>
void RunReductionGradient(const Attributes& attributes, const std::vector<int64_t>& axes, const Array<T>& x,
                          const Array<T>& dy, const Array<T>& dx) {
  const std::vector<bool> reduced = ReducedAxes(axes, static_cast<int64_t>(x.dims.size()));
  const std::vector<int64_t> targets = ReductionTargets(x.dims, reduced);
  const int64_t count = ReducedCount(x.dims, reduced);
  std::vector<T> results(static_cast<size_t>(dy.size()));
  RunReduction<Op>(attributes, axes, x, Array<T>{results.data(), dy.dims, true});
  for (size_t i = 0; i < targets.size(); ++i) {
    const size_t target = static_cast<size_t>(targets[i]);
    dx.data[i] = dy.data[target] * Op::Slope(x.data[i], results[target], count, attributes);
  }
}

}  // namespace support
