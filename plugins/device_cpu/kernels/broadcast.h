// Two operands broadcast to one shape.
#pragma once

#include "plugins/device_cpu/kernels/support.h"

namespace tenon::cpu {

// Broadcast of two shapes, neighbouring dims that behave alike merged into one. False: too many dims remain.
template <class T>
bool Collapse(sdk::Dims a, sdk::Dims b, sdk::Dims out, BinaryArgsOf<T>& p) {
  p.rank = 0;
  const uint32_t rank = out.size();
  const auto size = [&](sdk::Dims d, uint32_t axis) { return axis + d.size() < rank ? 1 : d[axis + d.size() - rank]; };
  bool repeats_a[BinaryArgs::kMaxRank] = {}, repeats_b[BinaryArgs::kMaxRank] = {};
  for (uint32_t axis = 0; axis < rank; ++axis) {
    if (out[axis] == 1) continue;
    const bool ra = size(a, axis) == 1, rb = size(b, axis) == 1;
    if (p.rank > 0 && repeats_a[p.rank - 1] == ra && repeats_b[p.rank - 1] == rb) {
      p.dims[p.rank - 1] *= out[axis];
      continue;
    }
    if (p.rank == BinaryArgs::kMaxRank) return false;
    p.dims[p.rank] = out[axis];
    repeats_a[p.rank] = ra;
    repeats_b[p.rank] = rb;
    ++p.rank;
  }
  if (p.rank == 0) p.dims[p.rank++] = 1;
  int64_t next_a = 1, next_b = 1;
  for (int d = p.rank - 1; d >= 0; --d) {
    p.a_strides[d] = repeats_a[d] ? 0 : next_a;
    p.b_strides[d] = repeats_b[d] ? 0 : next_b;
    if (!repeats_a[d]) next_a *= p.dims[d];
    if (!repeats_b[d]) next_b *= p.dims[d];
  }
  return true;
}

}  // namespace tenon::cpu
