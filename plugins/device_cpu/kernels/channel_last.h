// Tensors of images as they lie channel-last in memory.
#pragma once

#include <algorithm>
#include <vector>

#include "plugins/device_cpu/kernels/support.h"

namespace tenon::cpu {

// The place in memory of each axis N, C, H, W.
constexpr int64_t kChannelLastPlace[] = {0, 3, 1, 2};

// Dims of an operand of images, which may lack leading ones, in the order of channel-last memory.
struct ChannelLastDims {
  explicit ChannelLastDims(sdk::Dims d) {
    for (uint32_t axis = 0; axis < 4; ++axis)
      dims[kChannelLastPlace[axis]] = axis + d.size() < 4 ? 1 : d[axis + d.size() - 4];
  }
  operator sdk::Dims() const { return {dims, 4}; }
  int64_t dims[4];
};

// Emits signatures of one cost where all tensors of data share a layout: strided, and channel-last for images. What follows
// the first `data_inputs` inputs stays strided.
inline void EmitSharedLayouts(const sdk::Query& query, uint32_t data_inputs, double cost, sdk::LayoutEmitter& emitter) {
  for (const uint32_t layout : {0u, uint32_t{kNhwc}}) {
    if (layout != 0 && query.input(0).rank() != 4) continue;
    std::vector<uint32_t> inputs(query.input_count(), 0);
    std::fill_n(inputs.begin(), data_inputs, layout);
    const std::vector<uint32_t> outputs(query.output_count(), layout);
    emitter.Emit(cost, inputs.data(), query.input_count(), outputs.data(), query.output_count());
  }
}

}  // namespace tenon::cpu
