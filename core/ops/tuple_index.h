#pragma once

#include <string_view>
#include <vector>

#include "core/ops/op_def.h"

namespace tenon {

// GatherND, ScatterND and their gradients: the last dim of `indices` holds tuples of m coordinates; each names a slice of
// `data`, which has the dims behind the first m ones. The first `batch` dims of both run together.

// Shape of all slices: indices without their last dim, then the dims of a slice. `op` names the operator in errors.
inline Result<SymShape> TupleSlices(std::string_view op, const SymShape& indices, const SymShape& data,
                                    std::int64_t batch) {
  TENON_INVALID_IF(indices.rank() < 1 || data.rank() < 1,
                   "{} needs data and indices of rank 1 or more; they have {} and {}.", op, data, indices);
  TENON_INVALID_IF(batch < 0 || batch >= std::min(indices.rank(), data.rank()),
                   "{} has {} batch dims; data {} and indices {} need more dims than that.", op, batch, data, indices);
  const Dim last = indices[indices.rank() - 1];
  TENON_INVALID_IF(!last.known(), "{} needs tuples of a known length; the indices have shape {}.", op, indices);
  TENON_INVALID_IF(last.value() < 1 || last.value() > data.rank() - batch,
                   "{} has tuples of {} indices; the data {} behind {} batch dims takes 1 to {}.", op, last, data,
                   batch, data.rank() - batch);
  const int sliced = static_cast<int>(batch + last.value());
  TENON_INVALID_IF(indices.rank() - 1 + data.rank() - sliced > kMaxRank,
                   "{} of {} by indices {}: the rank is above the limit ({}).", op, data, indices, kMaxRank);
  SymShape out;
  for (int i = 0; i + 1 < indices.rank(); ++i) {
    const bool agree = i >= batch || !indices[i].known() || !data[i].known() || indices[i] == data[i];
    TENON_INVALID_IF(!agree, "{} batch dim {} is {} in the data {} and {} in the indices {}.", op, i, data[i], data,
                     indices[i], indices);
    out.push_back(indices[i]);
  }
  for (int i = sliced; i < data.rank(); ++i) out.push_back(data[i]);
  return out;
}

struct TuplePlan {
  std::int64_t slice = 1;            // elements of one slice
  std::vector<std::int64_t> starts;  // first element of each slice in the data
};

// Requires that TupleSlices accepts the shapes. A negative index counts from the end; one outside its axis is an error.
inline Result<TuplePlan> TuplePlanOf(std::string_view op, const Tensor& indices, const Shape& data,
                                     std::int64_t batch) {
  const auto strides = ContiguousStrides(data);
  const Shape& shape = indices.shape();
  const std::int64_t length = shape[shape.rank() - 1];
  TuplePlan plan;
  for (int i = static_cast<int>(batch + length); i < data.rank(); ++i) plan.slice *= data[i];
  std::int64_t tuples = 1, per_batch = 1;
  for (int i = 0; i + 1 < shape.rank(); ++i) {
    tuples *= shape[i];
    if (i >= batch) per_batch *= shape[i];
  }
  const std::int64_t batch_stride = batch == 0 ? 0 : strides[static_cast<std::size_t>(batch - 1)];
  for (std::int64_t k = 0; k < tuples; ++k) {
    std::int64_t start = k / per_batch * batch_stride;
    for (std::int64_t j = 0; j < length; ++j) {
      const int axis = static_cast<int>(batch + j);
      const std::int64_t given = indices.data<std::int64_t>()[k * length + j], extent = data[axis];
      TENON_INVALID_IF(given < -extent || given >= extent,
                       "{} index {} is outside [{}, {}), the limits of axis {} of {}.", op, given, -extent, extent,
                       axis, data);
      start += (given < 0 ? given + extent : given) * strides[static_cast<std::size_t>(axis)];
    }
    plan.starts.push_back(start);
  }
  return plan;
}

}  // namespace tenon
