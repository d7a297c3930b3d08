// Images and windows as the convolution routines see them: channel-last with the padding included, a window row being one
// run of kw * c floats. Included by files compiled per instruction set.
#pragma once

#include "plugins/device_cpu/compute/conv_pool.h"
#include "plugins/device_cpu/compute/vec.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

constexpr int64_t kSlack = 4 * kLanes;  // floats that whole-vector reads may touch beyond an image

// A window as runs of consecutive floats in the padded channel-last image.
struct Window {
  int64_t runs, length;      // runs per window, floats per run
  int64_t run_stride;        // floats from one run to the next within a kernel row group
  int64_t rows, row_stride;  // groups (kernel rows)
  int64_t per_row;           // runs / rows
  int64_t vectors;           // per run
  int64_t padded;            // vectors * kLanes
};

// The image as the loops see it: channel-last with the padding included.
struct Image {
  int64_t h, w;       // padded
  int64_t row, size;  // floats
  bool copy;          // the caller's tensor is not like that
};

TENON_INLINE Image ImageOf(const ConvPoolShape& s, const Strides4& x) {
  Image i;
  i.h = s.h + s.pad_top + s.pad_bottom;
  i.w = s.w + s.pad_left + s.pad_right;
  i.row = i.w * s.c;
  i.size = i.h * i.row;
  const bool channel_last = (x.c == 1 || s.c == 1) && x.w == s.c && x.h == s.w * s.c;
  i.copy = !channel_last || i.h != s.h || i.w != s.w;
  return i;
}

TENON_INLINE Window WindowOf(const ConvPoolShape& s, const Image& image) {
  Window w;
  const bool dense = s.dilation_w == 1;
  w.rows = s.kh;
  w.row_stride = s.dilation_h * image.row;
  w.runs = dense ? s.kh : s.kh * s.kw;
  w.per_row = dense ? 1 : s.kw;
  w.length = dense ? s.kw * s.c : s.c;
  w.run_stride = dense ? 0 : s.dilation_w * s.c;
  w.vectors = CeilDiv(w.length, kLanes);
  w.padded = w.vectors * kLanes;
  return w;
}

// Offset in the image of run r of a window.
TENON_INLINE int64_t RunOffset(const Window& w, int64_t r) {
  if (w.per_row == 1) return r * w.row_stride;
  return r / w.per_row * w.row_stride + r % w.per_row * w.run_stride;
}

// Element t of run r is input channel c, kernel position kh, kw; returns its index in row-major [c][kh][kw].
TENON_INLINE int64_t WeightIndex(const ConvPoolShape& s, const Window& w, int64_t r, int64_t t) {
  const int64_t per_row = w.per_row;
  const int64_t kh = r / per_row, kw = per_row == 1 ? t / s.c : r % per_row, c = per_row == 1 ? t % s.c : t;
  return (c * s.kh + kh) * s.kw + kw;
}

TENON_INLINE void CopyRun(const float* from, int64_t count, float* to) {
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) Store(to + i, Load(from + i));
  if (i < count && count >= kLanes)  // once more a whole vector: parts of vectors are slow to store
    Store(to + count - kLanes, Load(from + count - kLanes));
  else if (i < count)
    StorePartial(to + i, LoadPartial(from + i, count - i), count - i);
}

// One image to the padded channel-last form; `out` has kSlack floats more. The padding is written once (`clear`).
TENON_INLINE void CopyImage(const ConvPoolShape& s, const Image& image, const float* x, const Strides4& st, float* out,
                            bool clear) {
  if (clear)
    for (int64_t i = 0; i < image.size + kSlack; ++i) out[i] = 0.0f;
  float* inner = out + s.pad_top * image.row + s.pad_left * s.c;
  for (int64_t h = 0; h < s.h; ++h) {
    float* to = inner + h * image.row;
    const float* from = x + h * st.h;
    if ((st.c == 1 || s.c == 1) && st.w == s.c) {
      CopyRun(from, s.w * s.c, to);
    } else {
      for (int64_t c = 0; c < s.c; ++c)
        for (int64_t w = 0; w < s.w; ++w) to[w * s.c + c] = from[c * st.c + w * st.w];
    }
  }
}

// The reverse for dx.
TENON_INLINE void CopyOut(const ConvPoolShape& s, const Image& image, const float* in, float* x, const Strides4& st) {
  const float* inner = in + s.pad_top * image.row + s.pad_left * s.c;
  for (int64_t h = 0; h < s.h; ++h) {
    const float* from = inner + h * image.row;
    float* to = x + h * st.h;
    if ((st.c == 1 || s.c == 1) && st.w == s.c) {
      CopyRun(from, s.w * s.c, to);
    } else {
      for (int64_t c = 0; c < s.c; ++c)
        for (int64_t w = 0; w < s.w; ++w) to[c * st.c + w * st.w] = from[w * s.c + c];
    }
  }
}

TENON_INLINE bool Empty(const ConvPoolShape& s) {
  return s.n == 0 || s.oc == 0 || s.ConvH() < s.pool_h || s.ConvW() < s.pool_w;
}

}  // namespace
}  // namespace tenon::cpu::TENON_CPU_ISA
