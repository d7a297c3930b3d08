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

// The shape of the result of operator `name` for X and W.
inline Result<SymShape> ConvOutput(std::string_view name, const Attributes& attrs, const SymShape& x,
                                   const SymShape& w) {
  TENON_INVALID_IF(
      w.rank() != x.rank() || x.rank() < 3 || x.rank() > 5 || !w.known(),
      "{} needs X [N, C, D1 ..] and W [M, C/group, k1 ..] of one rank (3 to 5), W with known dims; got X {} and W {}.",
      name, x, w);
  const std::int64_t group = attrs.Int("group");
  TENON_INVALID_IF(group < 1, "{} group is {}; the least is 1.", name, group);
  TENON_INVALID_IF(w[0].value() % group != 0, "{} has {} output channels, which do not divide into {} groups.", name,
                   w[0], group);
  TENON_INVALID_IF(!(x[1] == w[1] * Dim(group)), "{} X has {} channels, but W {} with group {} takes {}.", name, x[1],
                   w, group, w[1] * Dim(group));
  const std::vector<std::int64_t> kernel = KernelOfWeights(w.Concrete());
  const auto stated = attrs.Ints("kernel_shape", kernel);
  TENON_INVALID_IF(stated != kernel, "{} kernel_shape is [{}], but W has shape {}.", name, fmt::join(stated, ","), w);
  TENON_ASSIGN(const SymShape spatial, WindowOutputs(attrs, x, kernel));
  SymShape out{x[0], w[0]};
  for (const Dim dim : spatial.dims()) out.push_back(dim);
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
