#include "plugins/device_cpu/kernels/conv_geometry.h"

namespace tenon::cpu {
namespace {

bool ExplicitPads(const sdk::Attributes& attributes, const std::string& prefix, sdk::Reason& reason) {
  const std::string_view mode = attributes.String(prefix + "auto_pad", "NOTSET");
  return mode == "NOTSET" || reason.No("auto_pad is ", mode, "; this kernel takes explicit pads.");
}

}  // namespace

bool SupportsConv(const sdk::Attributes& attributes, const char* prefix, sdk::Value x, sdk::Value w,
                  sdk::Reason& reason) {
  if (x.rank() < 3 || x.rank() > 4)
    return reason.No("The rank is ", x.rank(), "; this kernel convolves lines and images (3 and 4).");
  if (w.rank() != x.rank()) return reason.No("The weights have rank ", w.rank(), ", the data ", x.rank(), ".");
  const std::string p(prefix);
  if (!ExplicitPads(attributes, p, reason)) return false;
  for (const int64_t pad : attributes.Ints(p + "pads"))
    if (pad < 0) return reason.No("A pad is ", pad, "; this kernel takes pads from 0 on.");
  return true;
}

bool SupportsPool(const sdk::Attributes& attributes, const char* prefix, sdk::Reason& reason) {
  const std::string p(prefix);
  if (!ExplicitPads(attributes, p, reason)) return false;
  const sdk::Dims kernel = attributes.Ints(p + "kernel_shape");
  if (kernel.size() != 2) return reason.No("kernel_shape has ", kernel.size(), " entries; this kernel pools images.");
  if (kernel[0] * kernel[1] > 256) return reason.No("The pool window ", kernel, " has more than 256 positions.");
  if (attributes.Int(p + "ceil_mode", 0) != 0) return reason.No("ceil_mode is 1; this kernel takes whole windows.");
  for (const int64_t pad : attributes.Ints(p + "pads"))
    if (pad != 0) return reason.No("The pool has a pad of ", pad, "; this kernel takes none.");
  for (const int64_t dilation : attributes.Ints(p + "dilations"))
    if (dilation != 1) return reason.No("The pool has a dilation of ", dilation, "; this kernel takes 1.");
  return true;
}

ConvWindows ReadWindows(const sdk::Attributes& attributes, const char* conv_prefix, const char* pool_prefix,
                        uint32_t rank) {
  ConvWindows out;
  ConvPoolShape& s = out.shape;
  const std::string c(conv_prefix);
  out.group = attributes.Int(c + "group", 1);
  // Lists have one entry per spatial axis; the last one is the width.
  const uint32_t axes = rank - 2, last = axes - 1;
  s.stride_w = attributes.IntAt(c + "strides", last, 1);
  s.dilation_w = attributes.IntAt(c + "dilations", last, 1);
  s.pad_left = attributes.IntAt(c + "pads", last, 0);
  s.pad_right = attributes.IntAt(c + "pads", axes + last, 0);
  if (axes == 2) {
    s.stride_h = attributes.IntAt(c + "strides", 0, 1);
    s.dilation_h = attributes.IntAt(c + "dilations", 0, 1);
    s.pad_top = attributes.IntAt(c + "pads", 0, 0);
    s.pad_bottom = attributes.IntAt(c + "pads", 2, 0);
  }
  if (pool_prefix == nullptr) return out;
  const std::string p(pool_prefix);
  s.pool_h = attributes.IntAt(p + "kernel_shape", 0, 1);
  s.pool_w = attributes.IntAt(p + "kernel_shape", 1, 1);
  s.pool_stride_h = attributes.IntAt(p + "strides", 0, 1);
  s.pool_stride_w = attributes.IntAt(p + "strides", 1, 1);
  return out;
}

ConvPoolShape ShapeOf(const ConvWindows& windows, sdk::Dims x, sdk::Dims w) {
  const bool image = x.size() == 4;
  ConvPoolShape s = windows.shape;
  s.n = x[0], s.c = w[1], s.h = image ? x[2] : 1, s.w = image ? x[3] : x[2];
  s.oc = w[0] / windows.group, s.kh = image ? w[2] : 1, s.kw = image ? w[3] : w[2];
  return s;
}

Strides4 ConvStridesOf(sdk::Value value) {
  const sdk::Dims d = value.dims();
  if (d.size() == 3) return NchwStrides(d[1], 1, d[2]);
  return value.layout() == kNhwc ? NhwcStrides(d[1], d[2], d[3]) : NchwStrides(d[1], d[2], d[3]);
}

}  // namespace tenon::cpu
