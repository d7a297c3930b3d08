#include "core/ops/window.h"

#include <algorithm>

namespace tenon {

void DefineConvAttributes(OpDef& op) {
  op.OptionalAttr("kernel_shape", AttrType::kInts)
      .OptionalAttr("strides", AttrType::kInts)
      .OptionalAttr("pads", AttrType::kInts)
      .OptionalAttr("dilations", AttrType::kInts)
      .Attr("auto_pad", "NOTSET");
}

void DefinePoolAttributes(OpDef& op) {
  op.RequiredAttr("kernel_shape", AttrType::kInts)
      .OptionalAttr("strides", AttrType::kInts)
      .OptionalAttr("pads", AttrType::kInts)
      .OptionalAttr("dilations", AttrType::kInts)
      .Attr("auto_pad", "NOTSET")
      .Attr("ceil_mode", 0);
}

namespace {

enum class AutoPad { kNotSet, kValid, kSameUpper, kSameLower };

Result<AutoPad> AutoPadOf(const Attributes& attrs) {
  const std::string text = attrs.Text("auto_pad", "NOTSET");
  if (text == "NOTSET") return AutoPad::kNotSet;
  if (text == "VALID") return AutoPad::kValid;
  if (text == "SAME_UPPER") return AutoPad::kSameUpper;
  if (text == "SAME_LOWER") return AutoPad::kSameLower;
  return InvalidArgument("auto_pad is '{}'; it can be NOTSET, VALID, SAME_UPPER or SAME_LOWER.", text);
}

// A per-axis list attribute with its default; lengths and lower limits are checked.
Result<std::vector<std::int64_t>> AxisList(const Attributes& attrs, const char* name, std::size_t count,
                                           std::int64_t fallback, std::int64_t least) {
  std::vector<std::int64_t> values = attrs.Ints(name, std::vector<std::int64_t>(count, fallback));
  TENON_INVALID_IF(values.size() != count, "{} has {} values ([{}]); {} are needed for this number of spatial axes.",
                   name, values.size(), fmt::join(values, ","), count);
  for (const std::int64_t value : values) {
    TENON_INVALID_IF(value < least, "{} holds {}; the least value is {}.", name, value, least);
    TENON_INVALID_IF(value > kLargestWindow, "{} holds {}; the greatest value is {}.", name, value, kLargestWindow);
  }
  return values;
}

// Output extent of one axis under NOTSET or VALID.
Result<Dim> PaddedOutput(Dim input, std::int64_t extent, std::int64_t stride, std::int64_t begin, std::int64_t end,
                         bool ceil_mode, int axis) {
  const Dim padded = input + Dim(begin + end);
  TENON_INVALID_IF(
      padded.known() && padded.value() < extent,
      "The kernel spans {} elements of spatial axis {}, more than the padded input has ({} = {} + {} + {}).", extent,
      axis, padded, input, begin, end);
  const Dim room = padded - Dim(extent);
  if (!ceil_mode) return FloorDiv(room, stride) + Dim(1);
  const Dim all = CeilDiv(room, stride) + Dim(1);
  const Dim starting_inside = FloorDiv(input + Dim(begin - 1), stride) + Dim(1);
  return Min(all, starting_inside);
}

}  // namespace

Result<SymShape> WindowOutputs(const Attributes& attrs, const SymShape& input, std::span<const std::int64_t> kernel) {
  const int rank = input.rank() - 2;
  TENON_INVALID_IF(rank < 1 || rank > kMaxSpatialRank,
                   "The input has shape {}; it must be [N, C, D1 ..] with one to three spatial axes.", input);
  const auto count = static_cast<std::size_t>(rank);
  TENON_INVALID_IF(kernel.size() != count, "kernel_shape is [{}]; it must have {} values for an input of shape {}.",
                   fmt::join(kernel, ","), rank, input);
  for (const std::int64_t k : kernel) {
    TENON_INVALID_IF(k < 1, "The kernel has extent {}; the least is 1.", k);
    TENON_INVALID_IF(k > kLargestWindow, "The kernel has extent {}; the greatest is {}.", k, kLargestWindow);
  }
  TENON_ASSIGN(const auto strides, AxisList(attrs, "strides", count, 1, 1));
  TENON_ASSIGN(const auto dilations, AxisList(attrs, "dilations", count, 1, 1));
  TENON_ASSIGN(const auto pads, AxisList(attrs, "pads", 2 * count, 0, 0));
  TENON_ASSIGN(const AutoPad auto_pad, AutoPadOf(attrs));
  const bool ceil_mode = attrs.Int("ceil_mode", 0) != 0 && auto_pad == AutoPad::kNotSet;
  SymShape out;
  for (std::size_t i = 0; i < count; ++i) {
    const Dim dim = input[static_cast<int>(i) + 2];
    if (auto_pad == AutoPad::kSameUpper || auto_pad == AutoPad::kSameLower) {
      out.push_back(CeilDiv(dim, strides[i]));
      continue;
    }
    const bool padded = auto_pad == AutoPad::kNotSet;
    const std::int64_t extent = (kernel[i] - 1) * dilations[i] + 1;
    TENON_ASSIGN(const Dim extent_out, PaddedOutput(dim, extent, strides[i], padded ? pads[i] : 0,
                                                    padded ? pads[i + count] : 0, ceil_mode, static_cast<int>(i)));
    out.push_back(extent_out);
  }
  return out;
}

Result<SymShape> PoolOutputs(const Attributes& attrs, const SymShape& input) {
  const std::vector<std::int64_t> kernel = KernelOf(attrs);
  TENON_ASSIGN(SymShape out, WindowOutputs(attrs, input, kernel));
  const std::size_t count = kernel.size();
  const auto dilations = attrs.Ints("dilations", std::vector<std::int64_t>(count, 1));
  const auto pads = attrs.Ints("pads", std::vector<std::int64_t>(2 * count, 0));
  for (std::size_t i = 0; i < 2 * count; ++i) {
    const std::int64_t extent = (kernel[i % count] - 1) * dilations[i % count] + 1;
    TENON_INVALID_IF(pads[i] >= extent,
                     "pads holds {} for spatial axis {}; it must be below the {} elements that the kernel spans.",
                     pads[i], i % count, extent);
  }
  return out;
}

Window ResolveWindow(const Attributes& attrs, const Shape& input, std::span<const std::int64_t> kernel) {
  Window window;
  window.rank = input.rank() - 2;
  window.batch = input[0];
  window.channels = input[1];
  const auto count = static_cast<std::size_t>(window.rank);
  const auto outputs = WindowOutputs(attrs, input, kernel);
  if (!outputs.ok()) std::abort();  // a bug: the shape rule accepted these attributes
  const auto strides = attrs.Ints("strides", std::vector<std::int64_t>(count, 1));
  const auto dilations = attrs.Ints("dilations", std::vector<std::int64_t>(count, 1));
  const auto pads = attrs.Ints("pads", std::vector<std::int64_t>(2 * count, 0));
  const AutoPad auto_pad = AutoPadOf(attrs).value();
  for (std::size_t i = 0; i < count; ++i) {
    WindowAxis& axis = window.axis[i + kMaxSpatialRank - count];
    axis.input = input[static_cast<int>(i) + 2];
    axis.kernel = kernel[i];
    axis.stride = strides[i];
    axis.dilation = dilations[i];
    axis.output = outputs.value()[static_cast<int>(i)].value();
    if (auto_pad == AutoPad::kNotSet) {
      axis.pad_begin = pads[i];
      axis.pad_end = pads[i + count];
    } else if (auto_pad != AutoPad::kValid) {
      const std::int64_t extent = (axis.kernel - 1) * axis.dilation + 1;
      const std::int64_t total = std::max<std::int64_t>((axis.output - 1) * axis.stride + extent - axis.input, 0);
      axis.pad_begin = auto_pad == AutoPad::kSameUpper ? total / 2 : total - total / 2;
      axis.pad_end = total - axis.pad_begin;
    }
  }
  return window;
}

Attributes ExplicitWindow(const Window& window, const Attributes& attrs, std::initializer_list<const char*> extra) {
  const auto count = static_cast<std::size_t>(window.rank);
  std::vector<std::int64_t> kernel(count), strides(count), dilations(count), pads(2 * count);
  for (std::size_t i = 0; i < count; ++i) {
    const WindowAxis& axis = window.axis[i + kMaxSpatialRank - count];
    kernel[i] = axis.kernel;
    strides[i] = axis.stride;
    dilations[i] = axis.dilation;
    pads[i] = axis.pad_begin;
    pads[i + count] = axis.pad_end;
  }
  Attributes out;
  out.Set("kernel_shape", kernel);
  out.Set("strides", strides);
  out.Set("dilations", dilations);
  out.Set("pads", pads);
  // With automatic padding the explicit form needs no rounding up; see WindowOutputs.
  if (attrs.Has("ceil_mode")) {
    const bool rounds_up = attrs.Int("ceil_mode") != 0 && attrs.Text("auto_pad", "NOTSET") == "NOTSET";
    out.Set("ceil_mode", std::int64_t{rounds_up ? 1 : 0});
  }
  for (const char* name : extra) {
    if (const AttrValue* value = attrs.Find(name)) out.Set(name, *value);
  }
  return out;
}

}  // namespace tenon
