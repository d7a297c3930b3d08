#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/ops/op_def.h"

namespace tenon {

// Geometry of sliding windows: convolution and pooling over one to three spatial axes.

inline constexpr int kMaxSpatialRank = 3;
// Kernels, strides, dilations and pads are at most this, so that spans and positions fit in 64 bits.
inline constexpr std::int64_t kLargestWindow = (std::int64_t{1} << 31) - 1;

// One spatial axis. The window of output o covers the input positions o * stride - pad_begin + k * dilation for
// k = 0 .. kernel - 1; positions outside [0, input) are padding.
struct WindowAxis {
  std::int64_t input = 1;
  std::int64_t kernel = 1;
  std::int64_t stride = 1;
  std::int64_t dilation = 1;
  std::int64_t pad_begin = 0;
  std::int64_t pad_end = 0;
  std::int64_t output = 1;

  std::int64_t position(std::int64_t o, std::int64_t k) const { return o * stride - pad_begin + k * dilation; }
  bool inside(std::int64_t p) const { return p >= 0 && p < input; }
};

// Geometry of a whole node, always as three axes: missing leading ones have extent 1 and kernel 1.
struct Window {
  std::int64_t batch = 0;
  std::int64_t channels = 0;  // of the input
  int rank = 0;               // spatial axes of the tensors
  std::array<WindowAxis, kMaxSpatialRank> axis;

  std::int64_t inputs() const { return axis[0].input * axis[1].input * axis[2].input; }      // per channel
  std::int64_t outputs() const { return axis[0].output * axis[1].output * axis[2].output; }  // per channel
  std::int64_t taps() const { return axis[0].kernel * axis[1].kernel * axis[2].kernel; }
};

// Attributes of convolution (kernel_shape optional: W has it) and of pooling (kernel_shape required, ceil_mode):
// strides, pads, dilations, auto_pad.
void DefineConvAttributes(OpDef& op);
void DefinePoolAttributes(OpDef& op);

// Spatial output dims for input [N, C, D1 ..] and the kernel's dims. Rules of ONNX: auto_pad SAME_UPPER and SAME_LOWER
// give ceil(input / stride), VALID no padding, NOTSET the listed pads. In ceil mode a window that would start in the
// padding behind the input is dropped. Errors: list lengths, values below their limits, a kernel larger than its input.
Result<SymShape> WindowOutputs(const Attributes& attrs, const SymShape& input, std::span<const std::int64_t> kernel);

// WindowOutputs of a pooling node, whose pads must be below the span of its kernel: a window of padding alone has no element.
Result<SymShape> PoolOutputs(const Attributes& attrs, const SymShape& input);

// The geometry for concrete shapes; the attributes have passed WindowOutputs. SAME_UPPER puts the odd element of padding
// at the end, SAME_LOWER at the start.
Window ResolveWindow(const Attributes& attrs, const Shape& input, std::span<const std::int64_t> kernel);

// `attrs` with kernel_shape, strides, pads and dilations written out and without auto_pad: what the gradient operators
// take. `extra` names further attributes to keep.
Attributes ExplicitWindow(const Window& window, const Attributes& attrs, std::initializer_list<const char*> extra = {});

// kernel_shape of a pooling node.
inline const std::vector<std::int64_t>& KernelOf(const Attributes& attrs) { return attrs.Ints("kernel_shape"); }

// Calls fn(offset of the input element within its channel, tap) for every tap of output (o0, o1, o2) that is not padding,
// in row-major order.
template <class Fn>
void ForEachTap(const Window& w, std::int64_t o0, std::int64_t o1, std::int64_t o2, Fn fn) {
  const WindowAxis &a = w.axis[0], &b = w.axis[1], &c = w.axis[2];
  for (std::int64_t k0 = 0; k0 < a.kernel; ++k0) {
    const std::int64_t p0 = a.position(o0, k0);
    if (!a.inside(p0)) continue;
    for (std::int64_t k1 = 0; k1 < b.kernel; ++k1) {
      const std::int64_t p1 = b.position(o1, k1);
      if (!b.inside(p1)) continue;
      for (std::int64_t k2 = 0; k2 < c.kernel; ++k2) {
        const std::int64_t p2 = c.position(o2, k2);
        if (!c.inside(p2)) continue;
        fn((p0 * b.input + p1) * c.input + p2, (k0 * b.kernel + k1) * c.kernel + k2);
      }
    }
  }
}

// Calls fn(output element within its channel, o0, o1, o2) in row-major order.
template <class Fn>
void ForEachOutput(const Window& w, Fn fn) {
  std::int64_t o = 0;
  for (std::int64_t o0 = 0; o0 < w.axis[0].output; ++o0)
    for (std::int64_t o1 = 0; o1 < w.axis[1].output; ++o1)
      for (std::int64_t o2 = 0; o2 < w.axis[2].output; ++o2) fn(o++, o0, o1, o2);
}

}  // namespace tenon
