#include "plugins/device_cpu/kernels/conv_geometry.h"

namespace tenon::cpu {
namespace {

bool ExplicitPads(const sdk::Attributes& attributes, const std::string& prefix, sdk::Reason& reason) {
  const std::string_view mode = attributes.String(prefix + "auto_pad", "NOTSET");
  return mode == "NOTSET" || reason.No("auto_pad is ", mode, "; this kernel takes explicit pads.");
}

}  // namespace

bool SupportsConv(const sdk::Attributes& attributes, const char* prefix, sdk::Value x, sdk::Value w, sdk::Reason& reason) {
  if (x.rank() != 4 || w.rank() != 4) return reason.No("The rank is ", x.rank(), "; this kernel convolves images (rank 4).");
  const std::string p(prefix);
  if (!ExplicitPads(attributes, p, reason)) return false;
  const int64_t group = attributes.Int(p + "group", 1);
  if (group != 1) return reason.No("group is ", group, "; this kernel takes 1.");
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

ConvWindows ReadWindows(const sdk::Attributes& attributes, const char* conv_prefix, const char* pool_prefix) {
  ConvWindows out;
  ConvPoolShape& s = out.shape;
  const std::string c(conv_prefix);
  s.stride_h = attributes.IntAt(c + "strides", 0, 1);
  s.stride_w = attributes.IntAt(c + "strides", 1, 1);
  s.dilation_h = attributes.IntAt(c + "dilations", 0, 1);
  s.dilation_w = attributes.IntAt(c + "dilations", 1, 1);
  s.pad_top = attributes.IntAt(c + "pads", 0, 0);
  s.pad_left = attributes.IntAt(c + "pads", 1, 0);
  s.pad_bottom = attributes.IntAt(c + "pads", 2, 0);
  s.pad_right = attributes.IntAt(c + "pads", 3, 0);
  if (pool_prefix == nullptr) return out;
  const std::string p(pool_prefix);
  s.pool_h = attributes.IntAt(p + "kernel_shape", 0, 1);
  s.pool_w = attributes.IntAt(p + "kernel_shape", 1, 1);
  s.pool_stride_h = attributes.IntAt(p + "strides", 0, 1);
  s.pool_stride_w = attributes.IntAt(p + "strides", 1, 1);
  return out;
}

ConvPoolShape ShapeOf(const ConvWindows& windows, sdk::Dims x, sdk::Dims w) {
  ConvPoolShape s = windows.shape;
  s.n = x[0], s.c = x[1], s.h = x[2], s.w = x[3];
  s.oc = w[0], s.kh = w[2], s.kw = w[3];
  return s;
}

}  // namespace tenon::cpu
