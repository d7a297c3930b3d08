#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

#include "core/base/status.h"

namespace tenon {

inline constexpr int kMaxRank = 8;

// Concrete dims of a dense tensor, each >= 0; rank 0 is a scalar. A value type of fixed size: copying never allocates.
class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<std::int64_t> dims) : Shape(std::span<const std::int64_t>(dims.begin(), dims.size())) {}
  explicit Shape(std::span<const std::int64_t> dims);  // rank must be <= kMaxRank, see Make for unchecked input

  // As the constructor for dims that come from outside: refuses rank > 8, negative dims and element counts beyond
  // 2^62.
  static Result<Shape> Make(std::span<const std::int64_t> dims);

  int rank() const { return rank_; }
  std::int64_t dim(int axis) const { return dims_[static_cast<std::size_t>(axis)]; }  // 0 <= axis < rank
  std::int64_t operator[](int axis) const { return dim(axis); }
  void set_dim(int axis, std::int64_t value) { dims_[static_cast<std::size_t>(axis)] = value; }
  void push_back(std::int64_t dim);  // rank must be below kMaxRank
  std::span<const std::int64_t> dims() const { return {dims_.data(), static_cast<std::size_t>(rank_)}; }
  const std::int64_t* data() const { return dims_.data(); }
  std::int64_t elements() const;  // 1 for a scalar
  bool operator==(const Shape& other) const;

  // "[2,3]", "[]" for a scalar.
  std::string ToString() const;

 private:
  std::array<std::int64_t, kMaxRank> dims_{};
  int rank_ = 0;
};

// Row-major strides in elements.
std::array<std::int64_t, kMaxRank> ContiguousStrides(const Shape& shape);

// numpy broadcasting of two shapes; error names both.
Result<Shape> Broadcast(const Shape& a, const Shape& b);

// Maps a negative axis to its positive one; error when outside [-rank, rank).
Result<int> NormalizeAxis(std::int64_t axis, int rank);

}  // namespace tenon

template <>
struct fmt::formatter<tenon::Shape> : fmt::formatter<std::string> {
  template <class Context>
  auto format(const tenon::Shape& shape, Context& context) const {
    return fmt::formatter<std::string>::format(shape.ToString(), context);
  }
};
