// Rows of products that lie in channel-last images of bf16: what the window of a pixel sees, tap after tap, zero outside.
#pragma once

#include "plugins/device_cpu/compute/bf16_panels.h"
#include "plugins/device_cpu/compute/conv_pool.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

// One axis of the window: tap t of pixel p lies at p * stride + offset + t * step of the image, and is position first + t * apart of
// the window of the convolution. Steps go upward.
struct Taps {
  int64_t count = 0, offset = 0, step = 1, first = 0, apart = 1;
  int64_t pixels = 0, stride = 1, size = 0;  // `size` of the image
};
struct Windows {
  const uint16_t* image;
  int64_t c;
  Taps h, w;

  int64_t Length() const { return h.count * w.count * c; }  // of a row
};

TENON_INLINE Windows ForwardWindows(const ConvPoolShape& s, const uint16_t* x) {
  return {x,
          s.c,
          {s.kh, -s.pad_top, s.dilation_h, 0, 1, s.ConvH(), s.stride_h, s.h},
          {s.kw, -s.pad_left, s.dilation_w, 0, 1, s.ConvW(), s.stride_w, s.w}};
}

// The pixels phase, phase + stride, ... of the data: their gradient meets the same positions of the window.
TENON_INLINE Taps PhaseTaps(int64_t phase, int64_t stride, int64_t pad, int64_t dilation, int64_t window, int64_t data,
                            int64_t size) {
  Taps t;
  t.pixels = CeilDiv(Max(0, data - phase), stride), t.size = size;
  for (int64_t i = window - 1; i >= 0; --i) {
    const int64_t at = phase + pad - i * dilation;
    if (at % stride != 0) continue;
    if (t.count == 0) t.first = i, t.offset = at / stride;
    if (t.count == 1) t.apart = i - t.first, t.step = at / stride - t.offset;
    ++t.count;
  }
  return t;
}
TENON_INLINE Windows DataWindows(const ConvPoolShape& s, int64_t phase_h, int64_t phase_w, const uint16_t* dy) {
  return {dy, s.oc, PhaseTaps(phase_h, s.stride_h, s.pad_top, s.dilation_h, s.kh, s.h, s.ConvH()),
          PhaseTaps(phase_w, s.stride_w, s.pad_left, s.dilation_w, s.kw, s.w, s.ConvW())};
}

// Calls f(p, n, h, w) for pixels [pixels), which are counted image after image, line after line.
template <class F>
TENON_INLINE void ForEachPixel(const Windows& s, Range pixels, const F& f) {
  int64_t p = pixels.begin, w = p % s.w.pixels, line = p / s.w.pixels;
  for (; p < pixels.end; ++line, w = 0) {
    const int64_t n = line / s.h.pixels, h = line % s.h.pixels;
    for (; w < s.w.pixels && p < pixels.end; ++w, ++p) f(p, n, h, w);
  }
}

// Where tap (down, across) of pixels [pixels) lies: `outside` where that is not in the image.
TENON_INLINE void FindTap(const Windows& s, int64_t down, int64_t across, Range pixels, const uint16_t* outside,
                          const uint16_t** to) {
  const int64_t first_h = s.h.offset + down * s.h.step, first_w = s.w.offset + across * s.w.step;
  ForEachPixel(s, pixels, [&](int64_t p, int64_t n, int64_t row, int64_t column) {
    const int64_t h = row * s.h.stride + first_h, w = column * s.w.stride + first_w;
    const bool inside = h >= 0 && h < s.h.size && w >= 0 && w < s.w.size;
    to[p - pixels.begin] = inside ? s.image + ((n * s.h.size + h) * s.w.size + w) * s.c : outside;
  });
}

}  // namespace
}  // namespace tenon::cpu::TENON_CPU_ISA
