#include "core/tensor/shape.h"

#include <algorithm>
#include <cstdlib>

namespace tenon {

Shape::Shape(std::span<const std::int64_t> dims) : rank_(static_cast<int>(dims.size())) {
  if (dims.size() > kMaxRank) std::abort();  // a bug in the caller: outside data goes through Make
  std::copy(dims.begin(), dims.end(), dims_.begin());
}

Result<Shape> Shape::Make(std::span<const std::int64_t> dims) {
  TENON_INVALID_IF(dims.size() > kMaxRank, "The rank ({}) is above the limit ({}).", dims.size(), kMaxRank);
  std::int64_t elements = 1;
  for (const std::int64_t dim : dims) {
    TENON_INVALID_IF(dim < 0, "A dimension ({}) is negative in shape [{}].", dim, fmt::join(dims, ","));
    if (dim == 0 || elements == 0) {
      elements = 0;
      continue;
    }
    TENON_INVALID_IF(elements > (std::int64_t{1} << 62) / dim, "Shape [{}] has more than 2^62 elements.",
                     fmt::join(dims, ","));
    elements *= dim;
  }
  return Shape(dims);
}

void Shape::push_back(std::int64_t dim) {
  if (rank_ >= kMaxRank) std::abort();  // a bug in the caller
  dims_[static_cast<std::size_t>(rank_++)] = dim;
}

std::int64_t Shape::elements() const {
  std::int64_t count = 1;
  for (const std::int64_t dim : dims()) count *= dim;
  return count;
}

bool Shape::operator==(const Shape& other) const {
  const auto a = dims(), b = other.dims();
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

std::string Shape::ToString() const { return fmt::format("[{}]", fmt::join(dims(), ",")); }

std::array<std::int64_t, kMaxRank> ContiguousStrides(const Shape& shape) {
  std::array<std::int64_t, kMaxRank> strides{};
  std::int64_t step = 1;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    strides[static_cast<std::size_t>(axis)] = step;
    step *= shape[axis];
  }
  return strides;
}

Result<Shape> Broadcast(const Shape& a, const Shape& b) {
  Shape out = a.rank() >= b.rank() ? a : b;
  for (int k = 1; k <= out.rank(); ++k) {
    const std::int64_t da = k <= a.rank() ? a[a.rank() - k] : 1;
    const std::int64_t db = k <= b.rank() ? b[b.rank() - k] : 1;
    TENON_INVALID_IF(da != db && da != 1 && db != 1, "Shapes {} and {} do not broadcast: {} against {}.", a, b, da, db);
    out.set_dim(out.rank() - k, da == 1 ? db : da);
  }
  return out;
}

Result<int> NormalizeAxis(std::int64_t axis, int rank) {
  TENON_INVALID_IF(axis < -rank || axis >= rank, "Axis ({}) is outside [{}, {}) of a tensor of rank {}.", axis, -rank,
                   rank, rank);
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

}  // namespace tenon
