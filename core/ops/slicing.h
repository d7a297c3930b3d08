#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/ops/op_def.h"

namespace tenon {

// Slice with ONNX's rules, shared by Slice and its gradient: output element k of an axis is input element
// start + k * step. Bounds are clamped, so INT64_MIN and INT64_MAX mean "as far as there is".

struct SliceRequest {
  std::vector<std::int64_t> starts, ends, axes, steps;  // one entry per listed axis
};

struct SliceAxis {
  std::int64_t start = 0, step = 1, count = 0;
};

// Fills in the default axes (the first ones) and steps (1); checks lengths, repeated axes and zero steps.
Status CompleteSlice(SliceRequest& request, int rank);

// Start and count along one axis of extent `extent`.
SliceAxis ClampSlice(std::int64_t extent, std::int64_t start, std::int64_t end, std::int64_t step);

// The same count for a symbolic extent.
Dim SliceCount(Dim extent, std::int64_t start, std::int64_t end, std::int64_t step);

// All axes of a tensor.
std::array<SliceAxis, kMaxRank> SliceAxes(const SliceRequest& request, const Shape& shape);

// The request of a node with inputs (starts, ends[, axes[, steps]]) from input `first` on.
Result<SliceRequest> SliceRequestOf(const ReferenceArgs& args, std::size_t first, int rank);

}  // namespace tenon
