#pragma once

#include "core/ops/window.h"

namespace tenon {

// Geometry of a convolution X [N, C, D1 ..] * W [M, C/group, k1 ..], shared by Conv and its two gradients.
struct ConvGeometry {
  Window window;
  std::int64_t group = 1;
  std::int64_t out_channels = 0;
  std::int64_t in_per_group = 0;

  std::int64_t FirstInputOf(std::int64_t m) const { return m / (out_channels / group) * in_per_group; }
};

inline std::vector<std::int64_t> KernelOfWeights(const Shape& w) { return {w.dims().begin() + 2, w.dims().end()}; }

inline ConvGeometry ConvGeometryOf(const Attributes& attrs, const Shape& x, const Shape& w) {
  ConvGeometry out;
  out.window = ResolveWindow(attrs, x, KernelOfWeights(w));
  out.group = attrs.Int("group");
  out.out_channels = w[0];
  out.in_per_group = w[1];
  return out;
}

// The shape rule of the gradient operators: dY must have the shape that the forward convolution gives.
inline Status CheckConvOutput(const Attributes& attrs, const SymShape& x, const SymShape& w, const SymShape& dy) {
  const std::vector<std::int64_t> kernel = attrs.Ints("kernel_shape");
  TENON_ASSIGN(const SymShape spatial, WindowOutputs(attrs, x, kernel));
  SymShape expected{x[0], w[0]};
  for (const Dim dim : spatial.dims()) expected.push_back(dim);
  TENON_INVALID_IF(!(dy == expected), "dY has shape {}; X {} and W {} give {}.", dy, x, w, expected);
  return {};
}

}  // namespace tenon
