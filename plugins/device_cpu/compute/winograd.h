// Convolution of 3x3 windows with steps of 1 over channel-last images by Winograd's F(2x2, 3x3): 16 products make four
// outputs that need 36 directly. Its transforms add, and halve sums of weights: in float the error is that of a direct sum.
// Over bf16 they are computed in float; where the processor multiplies pairs of bf16, what they give is rounded to bf16.
#pragma once

#include <cstdint>

#include "plugins/device_cpu/compute/tile_multiplier.h"

namespace tenon::cpu {

// x [n][h][w][c], y [n][OutH][OutW][oc]. c and oc are multiples of 16.
struct WinogradShape {
  int64_t n = 0, c = 0, h = 0, w = 0, oc = 0;
  int64_t pad_top = 0, pad_left = 0, pad_bottom = 0, pad_right = 0;

  int64_t OutH() const { return h + pad_top + pad_bottom - 2; }
  int64_t OutW() const { return w + pad_left + pad_right - 2; }
};

// y = conv(x, weights) + bias, then max(0, .) if relu. weights [oc][c][3][3]; with `turned` they are [c][oc][3][3] and
// both axes of the window are reversed: what the gradient of the data takes, with x and y exchanged. `mask` (or null): x
// counts as zero where mask, of the shape of x, is not above zero (NaN lets it pass). bias [oc] or null.
template <class T>
struct WinogradForwardArgsOf {
  WinogradShape shape;
  int edge = 2;  // of a tile of outputs: 2, or 4 in float32
  const T* x = nullptr;
  const T* mask = nullptr;
  const T* weights = nullptr;
  const float* wide_weights = nullptr;  // in their place
  const T* bias = nullptr;
  T* y = nullptr;
  bool turned = false;
  bool relu = false;
  const TileMultiplier* unit = nullptr;  // multiplies pairs of bf16 in place of vectors
};
using WinogradForwardArgs = WinogradForwardArgsOf<float>;

// dw [oc][c][3][3] from x and dy, masked as above by `mask` of the shape of dy; db [oc] or null.
template <class T>
struct WinogradWeightsArgsOf {
  WinogradShape shape;
  int edge = 2;
  const T* x = nullptr;
  const T* dy = nullptr;
  const T* mask = nullptr;
  T* dw = nullptr;
  float* wide_dw = nullptr;  // in its place
  T* db = nullptr;
  const TileMultiplier* unit = nullptr;  // as above
};
using WinogradWeightsArgs = WinogradWeightsArgsOf<float>;

}  // namespace tenon::cpu
