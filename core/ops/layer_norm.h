#pragma once

#include "core/ops/op_def.h"

namespace tenon {

// A tensor seen as `count` rows of `extent` elements: the dims before and from the axis of LayerNormalization.
struct LayerRows {
  std::int64_t count = 1, extent = 1;
};

inline Result<LayerRows> LayerRowsOf(const Attributes& attrs, const Shape& x) {
  TENON_ASSIGN(const int axis, NormalizeAxis(attrs.Int("axis"), x.rank()));
  LayerRows rows;
  for (int i = 0; i < x.rank(); ++i) (i < axis ? rows.count : rows.extent) *= x[i];
  return rows;
}

}  // namespace tenon
