// Sliding windows of convolutions and pooling: one to three spatial axes, always seen as three.
#pragma once

#include <array>
#include <cstdint>

#include "kernels/work.h"

namespace tenon::npu {

struct WindowAxis {
  int64_t input = 1, kernel = 1, stride = 1, dilation = 1, pad = 0, pad_end = 0, output = 1;

  int64_t position(int64_t o, int64_t k) const { return o * stride - pad + k * dilation; }
  bool inside(int64_t p) const { return p >= 0 && p < input; }
};

struct Window {
  int64_t batch = 1, channels = 1;  // of the input
  std::array<WindowAxis, 3> axis;

  int64_t inputs() const { return axis[0].input * axis[1].input * axis[2].input; }  // per channel
  int64_t outputs() const { return axis[0].output * axis[1].output * axis[2].output; }
  int64_t taps() const { return axis[0].kernel * axis[1].kernel * axis[2].kernel; }
};

// `large` and `small` are the sides of the window, [N, C, D1 ..]; the attributes have explicit pads.
inline Window WindowOf(const Request& request, sdk::Dims large, sdk::Dims small, sdk::Dims kernel) {
  if (large.size() < 3 || large.size() > 5) Refuse("X has shape ", large, "; this kernel takes 1 to 3 spatial axes");
  const sdk::Attributes& attributes = request.attributes();
  const std::string_view padding = attributes.String("auto_pad", "NOTSET");
  if (padding != "NOTSET" && padding != "VALID") Refuse("auto_pad is ", padding);
  Window window;
  window.batch = large[0];
  window.channels = large[1];
  const uint32_t spatial = large.size() - 2;
  if (kernel.size() != spatial) Refuse("the window has ", kernel.size(), " sizes for ", spatial, " spatial axes");
  for (uint32_t i = 0; i < spatial; ++i) {
    WindowAxis& axis = window.axis[3 - spatial + i];
    axis.input = large[i + 2];
    axis.output = small[i + 2];
    axis.kernel = kernel[i];
    axis.stride = attributes.IntAt("strides", i, 1);
    axis.dilation = attributes.IntAt("dilations", i, 1);
    if (axis.stride < 1 || axis.dilation < 1) Refuse("a stride or dilation is below 1");
    axis.pad = padding == "VALID" ? 0 : attributes.IntAt("pads", i, 0);
    axis.pad_end = padding == "VALID" ? 0 : attributes.IntAt("pads", i + spatial, 0);
  }
  return window;
}

// fn(output element within its channel, o0, o1, o2) in row-major order.
template <class Fn>
void ForEachOutput(const Window& w, Fn fn) {
  int64_t o = 0;
  for (int64_t o0 = 0; o0 < w.axis[0].output; ++o0)
    for (int64_t o1 = 0; o1 < w.axis[1].output; ++o1)
      for (int64_t o2 = 0; o2 < w.axis[2].output; ++o2) fn(o++, o0, o1, o2);
}

// fn(input element within its channel) for every tap of an output that is not padding.
template <class Fn>
void ForEachTap(const Window& w, int64_t o0, int64_t o1, int64_t o2, Fn fn) {
  const WindowAxis &a = w.axis[0], &b = w.axis[1], &c = w.axis[2];
  for (int64_t k0 = 0; k0 < a.kernel; ++k0) {
    const int64_t p0 = a.position(o0, k0);
    if (!a.inside(p0)) continue;
    for (int64_t k1 = 0; k1 < b.kernel; ++k1) {
      const int64_t p1 = b.position(o1, k1);
      if (!b.inside(p1)) continue;
      for (int64_t k2 = 0; k2 < c.kernel; ++k2) {
        const int64_t p2 = c.position(o2, k2);
        if (c.inside(p2)) fn((p0 * b.input + p1) * c.input + p2);
      }
    }
  }
}

}  // namespace tenon::npu
