// Convolutions over channel-last images of bf16 by instructions for bf16, with sums in f32: products with a row for each pixel,
// whose taps are read where they lie in the image. For many channels.
#pragma once

#include <cstdint>

#include "plugins/device_cpu/compute/conv_pool.h"

namespace tenon::cpu {

// y = conv(x, weights) + bias, then max(0, .) if relu, rounded once. x [n][h][w][c], y [n][ConvH][ConvW][oc], bias [oc] or null,
// weights [oc][c][kh][kw]; wide_weights in their place are f32, of which the nearest bf16 counts. The shape has no pool; c is even.
struct ConvBf16ForwardArgs {
  ConvPoolShape shape;
  const uint16_t* x = nullptr;
  const uint16_t* weights = nullptr;
  const uint16_t* bias = nullptr;
  const float* wide_weights = nullptr;
  uint16_t* y = nullptr;
  bool relu = false;
};

// dx from dy and the weights. oc is even.
struct ConvBf16DataArgs {
  ConvPoolShape shape;
  const uint16_t* dy = nullptr;
  const uint16_t* weights = nullptr;
  const float* wide_weights = nullptr;
  uint16_t* dx = nullptr;
};

// dw [oc][c][kh][kw] from x and dy; in f32 to wide_dw, if that is given in its place. db [oc] or null.
struct ConvBf16WeightsArgs {
  ConvPoolShape shape;
  const uint16_t* x = nullptr;
  const uint16_t* dy = nullptr;
  uint16_t* dw = nullptr;
  float* wide_dw = nullptr;
  uint16_t* db = nullptr;
};

}  // namespace tenon::cpu
