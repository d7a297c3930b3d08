// Convolutions over channel-last images of bf16 by instructions for bf16, with sums in f32: products with a row for each pixel,
// whose taps are read where they lie in the image. For many channels.
#pragma once

#include <cstdint>

#include "plugins/device_cpu/compute/conv_pool.h"

namespace tenon::cpu {

// y = conv(x, weights) + bias, then max(0, .) if relu, rounded once. c is even. x [n][h][w][c], y [n][ConvH][ConvW][oc]; weights [oc][c][kh][kw]
// and bias [oc] (or null) are bf16, or f32 of which the nearest bf16 counts. The shape has no pool.
struct ConvBf16ForwardArgs {
  ConvPoolShape shape;
  const uint16_t* x = nullptr;
  const uint16_t* weights = nullptr;
  const uint16_t* bias = nullptr;
  const float* wide_weights = nullptr;
  const float* wide_bias = nullptr;
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

// dw [oc][c][kh][kw] from x and dy, as bf16 numbers; to wide_dw, if given, in f32.
struct ConvBf16WeightsArgs {
  ConvPoolShape shape;
  const uint16_t* x = nullptr;
  const uint16_t* dy = nullptr;
  uint16_t* dw = nullptr;
  float* wide_dw = nullptr;
};

}  // namespace tenon::cpu
