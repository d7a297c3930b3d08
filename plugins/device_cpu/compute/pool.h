// Maximum and average pooling of lines, images and volumes: channel-last images, or planes with neighbours in w.
#pragma once

#include <cstdint>

#include "plugins/device_cpu/compute/conv_pool.h"

namespace tenon::cpu {

// Lines are images of one row, images volumes of one slice. Slices of a volume lie h rows apart; strides are of NCHW.
struct PoolShape {
  int64_t n = 0, c = 0, h = 0, w = 0, out_h = 0, out_w = 0;
  int64_t kernel_h = 1, kernel_w = 1, stride_h = 1, stride_w = 1, dilation_h = 1, dilation_w = 1;
  int64_t pad_top = 0, pad_left = 0, pad_bottom = 0, pad_right = 0;
  int64_t d = 1, out_d = 1, kernel_d = 1, stride_d = 1, dilation_d = 1, pad_front = 0, pad_back = 0;
  bool count_padding = false;  // average: divide by the window with its padding (not beyond the pads)
};

// In all of them both images are in one layout: c has a stride of 1 (d is 1 then), or w has, and slices are dense.

// y = maximum of each window; padding never wins, NaN does. winners, in the layout of y: which position of the window
// (row-major), the first greatest; or null. Windows have at most 255 positions; 255 marks one of padding only (y = -inf).
struct MaxPoolArgs {
  PoolShape shape;
  const float* x = nullptr;
  Strides4 x_strides;
  float* y = nullptr;
  Strides4 y_strides;
  uint8_t* winners = nullptr;
};
// dx, fully written.
struct MaxPoolGradArgs {
  PoolShape shape;
  const float* dy = nullptr;
  Strides4 dy_strides;
  const uint8_t* winners = nullptr;
  float* dx = nullptr;
  Strides4 dx_strides;
};
struct AveragePoolArgs {
  PoolShape shape;
  const float* x = nullptr;  // gradient: dy
  Strides4 x_strides;
  float* y = nullptr;  // gradient: dx, fully written
  Strides4 y_strides;
};

}  // namespace tenon::cpu
