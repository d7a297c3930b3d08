// Convolution + bias + activation + max-pool in one pass, and its gradients from the pooled gradient; pool 1 x 1 is a
// plain convolution. Made for few input channels, where general libraries waste most of their lanes.
#pragma once

#include <cstdint>

namespace tenon::cpu {

// Strides in elements of a 4-D tensor [n][c][h][w], so that one routine reads NCHW, NHWC and anything else.
struct Strides4 {
  int64_t n = 0, c = 0, h = 0, w = 0;
};
inline Strides4 NchwStrides(int64_t c, int64_t h, int64_t w) { return {c * h * w, h * w, w, 1}; }
inline Strides4 NhwcStrides(int64_t c, int64_t h, int64_t w) { return {h * w * c, 1, w * c, c}; }

// x [n][c][h][w], weights [oc][c][kh][kw] row-major, y [n][oc][PooledH][PooledW]. The pool has no padding and takes
// whole windows only; any stride (overlapping windows are computed again for each). No groups. Winner bytes limit the
// pool window to 256 positions.
struct ConvPoolShape {
  int64_t n = 0, c = 0, h = 0, w = 0, oc = 0;
  int64_t kh = 1, kw = 1, stride_h = 1, stride_w = 1, dilation_h = 1, dilation_w = 1;
  int64_t pad_top = 0, pad_left = 0, pad_bottom = 0, pad_right = 0;
  int64_t pool_h = 1, pool_w = 1, pool_stride_h = 1, pool_stride_w = 1;
  bool relu = false;

  int64_t ConvH() const { return (h + pad_top + pad_bottom - (kh - 1) * dilation_h - 1) / stride_h + 1; }
  int64_t ConvW() const { return (w + pad_left + pad_right - (kw - 1) * dilation_w - 1) / stride_w + 1; }
  int64_t PooledH() const { return (ConvH() - pool_h) / pool_stride_h + 1; }
  int64_t PooledW() const { return (ConvW() - pool_w) / pool_stride_w + 1; }
};

// With vectors of 16 lanes: one input channel, steps of 1 and a pool of 2 x 2. Lanes are pooled columns in all directions, and winners
// are rows of each channel. (Many output channels fill the lanes of the other form.)
inline bool UsePooledColumns(const ConvPoolShape& s, int64_t lanes) {
  return lanes == 16 && s.c == 1 && s.stride_h == 1 && s.stride_w == 1 && s.dilation_h == 1 && s.dilation_w == 1 &&
         s.pool_h == 2 && s.pool_w == 2 && s.pool_stride_h == 2 && s.pool_stride_w == 2 && s.oc % 32 != 0;
}

// winners [n][PooledH][PooledW][oc], or [n][PooledH][oc][PooledW] if UsePooledColumns: which position of the window
// (row-major) won, the first maximum in that order, NaN above all. Null when nobody asks for gradients. bias [oc] or null.
struct ConvPoolForwardArgs {
  ConvPoolShape shape;
  const float* x = nullptr;
  Strides4 x_strides;
  const float* weights = nullptr;
  const float* bias = nullptr;
  float* y = nullptr;
  Strides4 y_strides;
  uint8_t* winners = nullptr;
};

// Any of dx, dw, db may be null. y is read when shape.relu: the gradient is zero where y <= 0 (NaN lets it pass). winners may be
// null for a pool of 1 x 1. dw is row-major [oc][c][kh][kw]. Everything is overwritten.
struct ConvPoolBackwardArgs {
  ConvPoolShape shape;
  const float* x = nullptr;  // needed for dw
  Strides4 x_strides;
  const float* weights = nullptr;  // needed for dx
  const float* dy = nullptr;
  Strides4 dy_strides;
  const float* y = nullptr;
  Strides4 y_strides;
  const uint8_t* winners = nullptr;
  float* dx = nullptr;
  Strides4 dx_strides;
  float* dw = nullptr;
  float* db = nullptr;
};

}  // namespace tenon::cpu
