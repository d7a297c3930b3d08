#pragma once

#include <algorithm>
#include <string_view>

#include "core/ops/broadcast.h"
#include "core/ops/op_def.h"

namespace tenon {

// GatherElements, ScatterElements and their gradients: `indices` has the rank of `data`; its element at position p names the
// element of `data` at p with the coordinate along `axis` replaced by the index.

// `op` names the operator in errors.
inline Status CheckElementIndices(std::string_view op, const SymShape& indices, const SymShape& data, int axis) {
  TENON_INVALID_IF(indices.rank() != data.rank(), "{} indices have shape {}; they need the rank of the data, {}.", op,
                   indices, data);
  for (int i = 0; i < data.rank(); ++i) {
    const bool fits = i == axis || !indices[i].known() || !data[i].known() || indices[i].value() <= data[i].value();
    TENON_INVALID_IF(!fits, "{} indices have shape {}; along axis {} the data {} has fewer elements.", op, indices, i,
                     data);
  }
  return {};
}

// Calls fn(i, at) for every element i of `indices` in row-major order with the element `at` of the data that it names. A
// negative index counts from the end; one outside the axis is an error.
template <class Fn>
Status ForEachElementIndex(std::string_view op, const Tensor& indices, const Shape& data, int axis, Fn fn) {
  const Tensor ints = Cast(indices, DType::kI64);
  auto strides = ContiguousStrides(data);
  const std::int64_t extent = data[axis], stride = strides[static_cast<std::size_t>(axis)];
  for (const std::int64_t given : ints.values<std::int64_t>()) {
    TENON_INVALID_IF(given < -extent || given >= extent,
                     "{} index {} is outside [{}, {}), the limits of axis {} of {}.", op, given, -extent, extent, axis,
                     data);
  }
  strides[static_cast<std::size_t>(axis)] = 0;
  ForEachStrided<1>(indices.shape(), {strides}, [&](std::int64_t i, const std::array<std::int64_t, 1>& at) {
    const std::int64_t index = ints.data<std::int64_t>()[i];
    fn(i, at[0] + (index < 0 ? index + extent : index) * stride);
  });
  return {};
}

}  // namespace tenon
