// Walks over tensors whose operands are read with strides of their own: broadcasting, slices, transposes, reductions.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "device.h"

namespace tenon::npu {

// Sizes and, for each of N operands, strides in elements. Axes of size 1 are left out and neighbours that all operands
// walk alike are one axis.
template <int N>
class Walk {
 public:
  using Places = std::array<int64_t, N>;

  void Add(int64_t size, const Places& strides) {  // from the outermost axis to the innermost
    if (size == 1) return;
    if (rank_ > 0) {
      bool joined = true;
      for (int k = 0; k < N; ++k) joined = joined && strides_[rank_ - 1][k] == strides[k] * size;
      if (joined) {
        sizes_[rank_ - 1] *= size;
        strides_[rank_ - 1] = strides;
        return;
      }
    }
    sizes_[rank_] = size;
    strides_[rank_++] = strides;
  }

  // Rows: the innermost axis.
  int64_t row() const { return rank_ == 0 ? 1 : sizes_[rank_ - 1]; }
  Places step() const { return rank_ == 0 ? Places{} : strides_[rank_ - 1]; }
  int64_t rows() const {
    int64_t product = 1;
    for (uint32_t axis = 0; axis + 1 < rank_; ++axis) product *= sizes_[axis];
    return product;
  }
  int64_t elements() const { return rows() * row(); }

  // fn(places of the first element) for rows [begin, end).
  template <class Fn>
  void Rows(int64_t begin, int64_t end, Fn&& fn) const {
    if (begin >= end) return;
    std::array<int64_t, kMaxRank> index{};
    Places at{};
    int64_t rest = begin;
    for (uint32_t axis = rank_ == 0 ? 0 : rank_ - 1; axis-- > 0;) {
      index[axis] = rest % sizes_[axis];
      rest /= sizes_[axis];
      for (int k = 0; k < N; ++k) at[k] += index[axis] * strides_[axis][k];
    }
    for (int64_t r = begin;; ++r) {
      fn(at);
      if (r + 1 == end) return;
      for (uint32_t axis = rank_ - 1; axis-- > 0;) {
        for (int k = 0; k < N; ++k) at[k] += strides_[axis][k];
        if (++index[axis] < sizes_[axis]) break;
        for (int k = 0; k < N; ++k) at[k] -= strides_[axis][k] * sizes_[axis];
        index[axis] = 0;
      }
    }
  }

 private:
  uint32_t rank_ = 0;
  std::array<int64_t, kMaxRank> sizes_{};
  std::array<Places, kMaxRank> strides_{};
};

inline std::vector<int64_t> ContiguousStrides(sdk::Dims dims) {
  std::vector<int64_t> strides(dims.size());
  int64_t next = 1;
  for (uint32_t axis = dims.size(); axis-- > 0;) {
    strides[axis] = next;
    next *= dims[axis];
  }
  return strides;
}

// Strides with which an operand is read while a result of dims `out` is walked: 0 where it is repeated.
inline std::vector<int64_t> BroadcastStrides(sdk::Dims operand, sdk::Dims out) {
  const std::vector<int64_t> own = ContiguousStrides(operand);
  std::vector<int64_t> strides(out.size(), 0);
  for (uint32_t axis = 0; axis < operand.size(); ++axis)
    if (operand[axis] != 1) strides[axis + out.size() - operand.size()] = own[axis];
  return strides;
}

}  // namespace tenon::npu
