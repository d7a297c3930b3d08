// The gradient of the weights of a depthwise convolution over channel-last images: lanes are channels.
#pragma once

#include <cstdint>

#include "plugins/device_cpu/compute/conv_pool.h"

namespace tenon::cpu {

// dw [c][kh][kw] from x [n][h][w][c] and dy [n][ConvH][ConvW][c]; db [c] or null. Sums are in float. The shape has no pool, its oc does
// not count, and there is at least one output.
template <class T>
struct DepthwiseWeightsArgsOf {
  ConvPoolShape shape;
  const T* x = nullptr;
  const T* dy = nullptr;
  T* dw = nullptr;
  T* db = nullptr;
};

}  // namespace tenon::cpu
