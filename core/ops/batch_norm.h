#pragma once

#include <vector>

#include "core/ops/op_def.h"

namespace tenon {

// A tensor [N, C, D1 ..] seen as batch, channel, area; a vector [N] has one channel.
struct ChannelLayout {
  std::int64_t batch = 1, channels = 1, area = 1;

  std::int64_t count() const { return batch * area; }  // values per channel
  template <class Fn>
  void Each(std::int64_t channel, Fn fn) const {
    for (std::int64_t n = 0; n < batch; ++n) {
      const std::int64_t base = (n * channels + channel) * area;
      for (std::int64_t i = 0; i < area; ++i) fn(base + i);
    }
  }
};

inline ChannelLayout ChannelLayoutOf(const Shape& shape) {
  ChannelLayout out;
  out.batch = shape[0];
  if (shape.rank() > 1) out.channels = shape[1];
  for (int axis = 2; axis < shape.rank(); ++axis) out.area *= shape[axis];
  return out;
}

// Whether a channel is known to hold exactly one value.
inline bool SingleValue(const SymShape& shape) {
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (axis != 1 && !shape[axis].Is(1)) return false;
  }
  return true;
}

}  // namespace tenon
