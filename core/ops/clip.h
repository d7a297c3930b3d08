#pragma once

#include <optional>

#include "core/ops/op_def.h"

namespace tenon {

// Bounds of Clip and its gradient: inputs `first` (min) and `first + 1` (max), scalars that may be absent.
template <class T>
struct ClipBounds {
  std::optional<T> min, max;
};

template <class T>
ClipBounds<T> ClipBoundsOf(const ReferenceArgs& args, std::size_t first) {
  ClipBounds<T> bounds;
  if (args.has(first)) bounds.min = *args.inputs[first].data<T>();
  if (args.has(first + 1)) bounds.max = *args.inputs[first + 1].data<T>();
  return bounds;
}

inline Status CheckClipBounds(const InferContext& context, int first) {
  for (int i = first; i < first + 2; ++i) {
    TENON_INVALID_IF(context.has_input(i) && context.shape(i).rank() != 0, "Clip {} is a scalar; it has shape {}.",
                     i == first ? "min" : "max", context.shape(i));
  }
  return {};
}

}  // namespace tenon
