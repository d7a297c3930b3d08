#pragma once

#include <vector>

#include "core/ops/op_def.h"

namespace tenon {

// Gather along one axis of a tensor seen as [outer, extent, inner]; shared by Gather and its gradient.
struct GatherPlan {
  std::int64_t outer = 1, extent = 0, inner = 1;
  std::vector<std::int64_t> indices;  // all in [0, extent)
};

// Negative indices count from the end; one outside [-extent, extent) is an error that names it and the limit.
inline Result<GatherPlan> GatherPlanOf(const Attributes& attrs, const Shape& x, const Tensor& indices) {
  GatherPlan plan;
  TENON_ASSIGN(const int axis, NormalizeAxis(attrs.Int("axis"), x.rank()));
  for (int i = 0; i < axis; ++i) plan.outer *= x[i];
  for (int i = axis + 1; i < x.rank(); ++i) plan.inner *= x[i];
  plan.extent = x[axis];
  const Tensor ints = Cast(indices, DType::kI64);
  for (const std::int64_t given : ints.values<std::int64_t>()) {
    TENON_INVALID_IF(given < -plan.extent || given >= plan.extent,
                     "Gather index {} is outside [{}, {}), the limits of axis {} of {}.", given, -plan.extent,
                     plan.extent, axis, x);
    plan.indices.push_back(given < 0 ? given + plan.extent : given);
  }
  return plan;
}

}  // namespace tenon
