#include "core/ops/slicing.h"

#include <algorithm>
#include <limits>

namespace tenon {

Status CompleteSlice(SliceRequest& request, int rank) {
  const std::size_t count = request.starts.size();
  if (request.axes.empty()) {
    for (std::size_t i = 0; i < count; ++i) request.axes.push_back(static_cast<std::int64_t>(i));
  }
  if (request.steps.empty()) request.steps.assign(count, 1);
  TENON_INVALID_IF(request.ends.size() != count || request.axes.size() != count || request.steps.size() != count,
                   "Slice has {} starts, {} ends, {} axes and {} steps; they must be equally many.", count,
                   request.ends.size(), request.axes.size(), request.steps.size());
  std::vector<std::int64_t> seen;
  for (std::size_t i = 0; i < count; ++i) {
    TENON_ASSIGN(const int axis, NormalizeAxis(request.axes[i], rank));
    TENON_INVALID_IF(std::find(seen.begin(), seen.end(), axis) != seen.end(), "Slice lists axis {} twice.",
                     request.axes[i]);
    TENON_INVALID_IF(request.steps[i] == 0, "Slice has step 0 along axis {}.", request.axes[i]);
    request.axes[i] = axis;
    seen.push_back(axis);
  }
  return {};
}

SliceAxis ClampSlice(std::int64_t extent, std::int64_t start, std::int64_t end, std::int64_t step) {
  const bool forward = step > 0;
  // Positions a bound can take: 0 to extent going forward, -1 to extent - 1 going back.
  const std::int64_t low = forward ? 0 : -1, high = forward ? extent : extent - 1;
  const std::int64_t from =
      std::clamp(start < 0 ? start + extent : start, forward ? 0 : std::min<std::int64_t>(0, high),
                 std::max<std::int64_t>(high, forward ? 0 : -1));
  const std::int64_t to = std::clamp(end < 0 ? end + extent : end, low, std::max(low, high));
  const std::int64_t distance = forward ? to - from : from - to;
  SliceAxis axis{from, step, 0};
  if (distance <= 0 || extent == 0) return axis;
  // -step does not exist for the least step, which takes one element anyway.
  const std::int64_t stride = forward ? step : (step == std::numeric_limits<std::int64_t>::min() ? distance : -step);
  axis.count = (distance - 1) / stride + 1;
  return axis;
}

Dim SliceCount(Dim extent, std::int64_t start, std::int64_t end, std::int64_t step) {
  if (extent.known()) return ClampSlice(extent.value(), start, end, step).count;
  // A bound this far out means "as far as there is" for every extent that can be.
  constexpr std::int64_t kFar = std::int64_t{1} << 40;
  const bool forward = step > 0;
  const Dim low = forward ? 0 : -1, high = forward ? extent : extent - 1;
  const auto clamp = [&](std::int64_t bound, Dim least) -> Dim {
    if (bound >= kFar) return high;
    if (bound <= -kFar) return least;
    if (bound < 0) return Max(extent + Dim(bound), least);
    return bound == 0 && forward ? Dim(0) : Min(Dim(bound), high);
  };
  const Dim from = clamp(start, 0), to = clamp(end, low);
  const Dim distance = forward ? to - from : from - to;
  const std::int64_t stride = forward ? step : (step < -kFar ? kFar : -step);
  if (distance == extent && stride == 1) return extent;
  return Max(CeilDiv(distance, stride), 0);
}

std::array<SliceAxis, kMaxRank> SliceAxes(const SliceRequest& request, const Shape& shape) {
  std::array<SliceAxis, kMaxRank> out{};
  for (int axis = 0; axis < shape.rank(); ++axis) out[static_cast<std::size_t>(axis)] = {0, 1, shape[axis]};
  for (std::size_t i = 0; i < request.axes.size(); ++i) {
    const auto axis = static_cast<std::size_t>(request.axes[i]);
    out[axis] = ClampSlice(shape[static_cast<int>(axis)], request.starts[i], request.ends[i], request.steps[i]);
  }
  return out;
}

Result<SliceRequest> SliceRequestOf(const ReferenceArgs& args, std::size_t first, int rank) {
  const auto ints = [&](std::size_t i) {
    if (!args.has(i)) return std::vector<std::int64_t>{};
    const Tensor wide = Cast(args.inputs[i], DType::kI64);
    return std::vector<std::int64_t>(wide.values<std::int64_t>().begin(), wide.values<std::int64_t>().end());
  };
  SliceRequest request{ints(first), ints(first + 1), ints(first + 2), ints(first + 3)};
  TENON_TRY(CompleteSlice(request, rank));
  return request;
}

}  // namespace tenon
