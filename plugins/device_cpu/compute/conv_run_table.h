// The runs of an image where vectors read them without crossing lines of the cache. Included by files compiled per instruction set.
#pragma once

#include "plugins/device_cpu/compute/conv_image.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

// The runs of an image at all columns of the convolution, each in whole vectors of its own: [row][column][vector]. In the image
// most of them lie across two lines of the cache, which are read again for each output channel.
constexpr int64_t kTableImages = 2;  // at once in the first-level cache
struct RunTable {
  int64_t columns, row, size;  // floats
};
TENON_INLINE RunTable RunTableOf(const ConvPoolShape& s, const Image& image, const Window& win) {
  RunTable t;
  t.columns = (s.PooledW() - 1) * s.pool_stride_w + s.pool_w;
  t.row = t.columns * win.padded;
  t.size = image.h * t.row;
  return t;
}
// Where the copy costs less than what it saves.
TENON_INLINE bool UseRunTable(const ConvPoolShape& s, const Image& image, const Window& win) {
  constexpr int64_t kMost = 6 * 1024;
  return kLanes == 16 && RunTableOf(s, image, win).size <= kMost && win.per_row == 1 &&
         (s.pool_h != 1 || s.pool_w != 1) && s.c * s.stride_w % kLanes != 0 &&
         s.oc * s.kh > 4 * s.pool_stride_h * s.pool_stride_w * s.stride_h;
}

void FillRunTable(const ConvPoolShape& s, const Image& image, const Window& win, const RunTable& t, const float* x,
                  float* out) {
  const int64_t step = s.stride_w * s.c, columns = t.columns, padded = win.padded;
  for (int64_t h = 0; h < image.h; ++h, x += image.row, out += t.row)
    for (int64_t v = 0; v < padded; v += kLanes)
      for (int64_t w = 0; w < columns; ++w) Store(out + w * padded + v, Load(x + w * step + v));
}

}  // namespace
}  // namespace tenon::cpu::TENON_CPU_ISA
