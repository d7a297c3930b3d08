#include "core/ops/resizing.h"

#include <algorithm>
#include <cmath>

namespace tenon {

Result<ResizeSettings> ResizeSettingsOf(const Attributes& attrs) {
  ResizeSettings out;
  const std::string mode = attrs.Text("mode", "nearest");
  TENON_INVALID_IF(mode != "nearest" && mode != "linear",
                   "Resize mode '{}' is not supported; supported are nearest and linear.", mode);
  out.mode = mode == "nearest" ? ResizeMode::kNearest : ResizeMode::kLinear;
  const std::string coordinates = attrs.Text("coordinate_transformation_mode", "half_pixel");
  if (coordinates == "half_pixel") {
    out.coordinates = ResizeCoordinates::kHalfPixel;
  } else if (coordinates == "half_pixel_symmetric") {
    out.coordinates = ResizeCoordinates::kHalfPixelSymmetric;
  } else if (coordinates == "pytorch_half_pixel") {
    out.coordinates = ResizeCoordinates::kPytorchHalfPixel;
  } else if (coordinates == "align_corners") {
    out.coordinates = ResizeCoordinates::kAlignCorners;
  } else if (coordinates == "asymmetric") {
    out.coordinates = ResizeCoordinates::kAsymmetric;
  } else {
    return InvalidArgument(
        "Resize coordinate_transformation_mode '{}' is not supported; supported are half_pixel, "
        "half_pixel_symmetric, pytorch_half_pixel, align_corners and asymmetric.",
        coordinates);
  }
  const std::string rounding = attrs.Text("nearest_mode", "round_prefer_floor");
  if (rounding == "round_prefer_floor") {
    out.rounding = ResizeRounding::kPreferFloor;
  } else if (rounding == "round_prefer_ceil") {
    out.rounding = ResizeRounding::kPreferCeil;
  } else if (rounding == "floor") {
    out.rounding = ResizeRounding::kFloor;
  } else if (rounding == "ceil") {
    out.rounding = ResizeRounding::kCeil;
  } else {
    return InvalidArgument(
        "Resize nearest_mode '{}' is not supported; supported are round_prefer_floor, "
        "round_prefer_ceil, floor and ceil.",
        rounding);
  }
  TENON_INVALID_IF(attrs.Int("antialias", 0) != 0, "Resize with antialias is not supported.");
  const std::string policy = attrs.Text("keep_aspect_ratio_policy", "stretch");
  TENON_INVALID_IF(policy != "stretch", "Resize keep_aspect_ratio_policy '{}' is not supported; stretch is.", policy);
  out.axes = attrs.Ints("axes", {});
  return out;
}

namespace {

Result<std::vector<int>> ListedAxes(const ResizeSettings& settings, int rank) {
  std::vector<int> axes;
  for (int axis = 0; settings.axes.empty() && axis < rank; ++axis) axes.push_back(axis);
  for (const std::int64_t given : settings.axes) {
    TENON_ASSIGN(const int axis, NormalizeAxis(given, rank));
    TENON_INVALID_IF(std::find(axes.begin(), axes.end(), axis) != axes.end(), "Resize lists axis {} twice.", given);
    axes.push_back(axis);
  }
  return axes;
}

// Position in the input, in elements, that output o shows. A scale that is the float nearest to output / input stands for
// exactly that ratio, so that scales and sizes agree.
double Coordinate(ResizeCoordinates mode, std::int64_t o, std::int64_t input, std::int64_t output, float given_scale) {
  const double in = static_cast<double>(input), out = static_cast<double>(output), x = static_cast<double>(o);
  const bool exact = given_scale == 0 || given_scale == static_cast<float>(out / in);
  const auto unscale = [&](double position) {
    return exact ? position * in / out : position / static_cast<double>(given_scale);
  };
  switch (mode) {
    case ResizeCoordinates::kHalfPixel:
      return unscale(x + 0.5) - 0.5;
    case ResizeCoordinates::kPytorchHalfPixel:
      return output > 1 ? unscale(x + 0.5) - 0.5 : 0.0;
    case ResizeCoordinates::kAlignCorners:
      return output > 1 ? x * (in - 1) / (out - 1) : 0.0;
    case ResizeCoordinates::kAsymmetric:
      return unscale(x);
    case ResizeCoordinates::kHalfPixelSymmetric: {
      const double adjustment = exact ? 1.0 : out / (static_cast<double>(given_scale) * in);
      return in / 2 * (1 - adjustment) + unscale(x + 0.5) - 0.5;
    }
  }
  return 0;
}

double Round(ResizeRounding rounding, double position) {
  switch (rounding) {
    case ResizeRounding::kPreferFloor:
      return std::ceil(position - 0.5);
    case ResizeRounding::kPreferCeil:
      return std::floor(position + 0.5);
    case ResizeRounding::kFloor:
      return std::floor(position);
    case ResizeRounding::kCeil:
      return std::ceil(position);
  }
  return position;
}

}  // namespace

Result<SymShape> ResizeOutput(const ResizeSettings& settings, const ResizeRequest& request, const SymShape& x) {
  TENON_ASSIGN(const auto axes, ListedAxes(settings, x.rank()));
  TENON_INVALID_IF(request.scales.empty() == request.sizes.empty(), "Resize takes either scales or sizes; {} given.",
                   request.scales.empty() ? "none is" : "both are");
  const std::size_t given = std::max(request.scales.size(), request.sizes.size());
  TENON_INVALID_IF(given != axes.size(), "Resize has {} {} for {} axes of an input of shape {}.", given,
                   request.scales.empty() ? "sizes" : "scales", axes.size(), x);
  SymShape out = x;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const Dim dim = x[axes[i]];
    if (!request.sizes.empty()) {
      TENON_INVALID_IF(request.sizes[i] < 0, "Resize size {} of axis {} is negative.", request.sizes[i], axes[i]);
      out.set_dim(axes[i], request.sizes[i]);
    } else {
      const float scale = request.scales[i];
      TENON_INVALID_IF(!(scale > 0) || std::isinf(scale), "Resize scale {} of axis {} must be above 0.", scale,
                       axes[i]);
      if (scale == 1) continue;
      const double elements =
          dim.known() ? static_cast<double>(dim.value()) * static_cast<double>(scale) : static_cast<double>(scale);
      TENON_INVALID_IF(elements > 4e18, "Resize by {} of axis {} ({} elements) gives more than 2^62 elements.", scale,
                       axes[i], dim);
      const bool whole = scale == std::floor(scale);
      TENON_INVALID_IF(!dim.known() && !whole, "Resize by {} needs to know the extent of axis {} ({}).", scale, axes[i],
                       dim);
      out.set_dim(axes[i], dim.known()
                               ? Dim(static_cast<std::int64_t>(std::floor(static_cast<float>(dim.value()) * scale)))
                               : dim * Dim(static_cast<std::int64_t>(scale)));
    }
    TENON_INVALID_IF(dim.Is(0) && !out[axes[i]].Is(0), "Resize of axis {} from 0 elements to {}.", axes[i],
                     out[axes[i]]);
  }
  return out;
}

std::vector<ResizeAxis> ResizeAxes(const ResizeSettings& settings, const ResizeRequest& request, const Shape& x,
                                   const Shape& y) {
  std::vector<ResizeAxis> out(static_cast<std::size_t>(x.rank()));
  for (int axis = 0; axis < x.rank(); ++axis) {
    out[static_cast<std::size_t>(axis)].input = x[axis];
    out[static_cast<std::size_t>(axis)].output = y[axis];
  }
  const auto axes = ListedAxes(settings, x.rank());
  if (!axes.ok()) return out;  // the shape rule has refused such a node
  for (std::size_t i = 0; i < axes->size(); ++i) {
    ResizeAxis& axis = out[static_cast<std::size_t>((*axes)[i])];
    const float scale = request.scales.empty() ? 0.0f : request.scales[i];
    if (axis.input == axis.output && (scale == 0 || scale == 1)) continue;
    axis.changes = true;
    const double last = static_cast<double>(axis.input - 1);
    for (std::int64_t o = 0; o < axis.output; ++o) {
      double position = Coordinate(settings.coordinates, o, axis.input, axis.output, scale);
      if (settings.mode == ResizeMode::kNearest) position = Round(settings.rounding, position);
      position = std::clamp(position, 0.0, last);
      const auto low = static_cast<std::int64_t>(std::floor(position));
      axis.low.push_back(low);
      axis.high.push_back(std::min(low + 1, axis.input - 1));
      axis.weight.push_back(position - static_cast<double>(low));
    }
  }
  return out;
}

ResizeRequest ResizeRequestOf(const Tensor* scales, const Tensor* sizes) {
  ResizeRequest out;
  if (scales != nullptr && scales->defined()) {
    const Tensor floats = Cast(*scales, DType::kF32);
    out.scales.assign(floats.values<float>().begin(), floats.values<float>().end());
  }
  if (sizes != nullptr && sizes->defined()) {
    const Tensor ints = Cast(*sizes, DType::kI64);
    out.sizes.assign(ints.values<std::int64_t>().begin(), ints.values<std::int64_t>().end());
  }
  return out;
}

}  // namespace tenon
