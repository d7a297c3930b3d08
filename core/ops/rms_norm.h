#pragma once

#include <cmath>
#include <vector>

#include "core/ops/broadcast.h"
#include "core/ops/layer_norm.h"

namespace tenon {

// What RMSNormalization and its gradient share.

// `scale` must broadcast to the dims of x from the axis on.
inline Status CheckRmsScale(const Attributes& attrs, const SymShape& x, const SymShape& scale) {
  TENON_ASSIGN(const int axis, NormalizeAxis(attrs.Int("axis"), x.rank()));
  const SymShape normalized(x.dims().subspan(static_cast<std::size_t>(axis)));
  TENON_ASSIGN(const SymShape both, Broadcast(normalized, scale));
  TENON_INVALID_IF(!(both == normalized), "RMSNormalization scale has shape {}; X {} from axis {} on needs {}.", scale,
                   x, axis, normalized);
  return {};
}

// The element of scale that belongs to each of a row's values.
inline Result<std::vector<std::int64_t>> RmsScaleIndex(const Attributes& attrs, const Shape& x, const Shape& scale) {
  TENON_ASSIGN(const int axis, NormalizeAxis(attrs.Int("axis"), x.rank()));
  const Shape normalized(x.dims().subspan(static_cast<std::size_t>(axis)));
  std::vector<std::int64_t> index(static_cast<std::size_t>(normalized.elements()));
  ForEachBroadcast(normalized, normalized, scale,
                   [&](std::int64_t i, std::int64_t, std::int64_t at) { index[static_cast<std::size_t>(i)] = at; });
  return index;
}

// 1 / sqrt(mean of squares + epsilon)
template <class T>
double InverseRms(const T* row, std::int64_t count, double epsilon) {
  double squares = 0;
  for (std::int64_t i = 0; i < count; ++i) squares += static_cast<double>(row[i]) * static_cast<double>(row[i]);
  return 1.0 / std::sqrt(squares / static_cast<double>(count) + epsilon);
}

}  // namespace tenon
