#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/ops/op_def.h"

namespace tenon {

// Geometry of Resize and its gradient. Every axis is resized on its own, one after the other: output o of an axis reads
// (1 - weight[o]) * input[low[o]] + weight[o] * input[high[o]]; for mode nearest the weight is 0.

enum class ResizeMode { kNearest, kLinear };
enum class ResizeCoordinates { kHalfPixel, kHalfPixelSymmetric, kPytorchHalfPixel, kAlignCorners, kAsymmetric };
enum class ResizeRounding { kPreferFloor, kPreferCeil, kFloor, kCeil };

struct ResizeSettings {
  ResizeMode mode = ResizeMode::kNearest;
  ResizeCoordinates coordinates = ResizeCoordinates::kHalfPixel;
  ResizeRounding rounding = ResizeRounding::kPreferFloor;
  std::vector<std::int64_t> axes;  // empty: all
};

// Checked settings; every mode that is not supported (cubic, tf_crop_and_resize, antialias ..) is refused by name.
Result<ResizeSettings> ResizeSettingsOf(const Attributes& attrs);

// What a node asks for: scales or sizes, never both; one per listed axis.
struct ResizeRequest {
  std::vector<float> scales;
  std::vector<std::int64_t> sizes;
};

// Output dims: sizes as they are, or floor(dim * scale) in float, as ONNX computes it.
Result<SymShape> ResizeOutput(const ResizeSettings& settings, const ResizeRequest& request, const SymShape& x);

struct ResizeAxis {
  std::int64_t input = 0, output = 0;
  std::vector<std::int64_t> low, high;
  std::vector<double> weight;
  bool changes = false;  // false: the axis is copied
};

// One entry per axis of x; the request has passed ResizeOutput.
std::vector<ResizeAxis> ResizeAxes(const ResizeSettings& settings, const ResizeRequest& request, const Shape& x,
                                   const Shape& y);

// Scales from input `scales` and sizes from input `sizes` of a node; absent and empty ones count as not given.
ResizeRequest ResizeRequestOf(const Tensor* scales, const Tensor* sizes);

}  // namespace tenon
