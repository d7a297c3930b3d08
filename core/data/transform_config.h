#pragma once

#include <array>
#include <cstdint>
#include <variant>
#include <vector>

namespace tenon {

struct ConfigTable;

// The entries of `data.transforms`. Defaults, bounds and sentences stand in transform_config.cc.

// Height and width in pixels. In a file: `224` for a square, or `[height, width]`.
struct ImageSize {
  std::int64_t height = 0;
  std::int64_t width = 0;
  bool single = false;  // one number was written
};

// The whole picture to a size; one number is the length of the short side.
struct ResizeConfig {
  static constexpr const char* kType = "resize";
  ImageSize size;
};

// A part of random area and shape, resized. In testing: the short side to size * 8 / 7, then the centre.
struct RandomResizedCropConfig {
  static constexpr const char* kType = "random_resized_crop";
  ImageSize size;
  std::array<double, 2> scale{0.08, 1.0};
  std::array<double, 2> ratio{3.0 / 4.0, 4.0 / 3.0};
};

struct CenterCropConfig {
  static constexpr const char* kType = "center_crop";
  ImageSize size;
};

// A window of random place. In testing: the centre.
struct RandomCropConfig {
  static constexpr const char* kType = "random_crop";
  ImageSize size;
  std::int64_t pad = 0;  // zeros on each side before
};

struct RandomFlipConfig {
  static constexpr const char* kType = "random_flip";
  double probability = 0.5;
};

// Each as a half-width: factors from [max(0, 1 - x), 1 + x], hue a turn of the colour circle from [-x, x].
struct ColorJitterConfig {
  static constexpr const char* kType = "color_jitter";
  double brightness = 0;
  double contrast = 0;
  double saturation = 0;
  double hue = 0;
};

// (value - mean) / std per channel; one number stands for all channels.
struct NormalizeConfig {
  static constexpr const char* kType = "normalize";
  std::vector<double> mean{0.0};
  std::vector<double> std{1.0};
};

// Labels become vectors of `classes` numbers, 1 at the label.
struct OneHotConfig {
  static constexpr const char* kType = "one_hot";
};

// Each sample of a batch and its label vector mixed with the one before it.
struct MixupConfig {
  static constexpr const char* kType = "mixup";
  double alpha = 0.2;
};

using TransformConfig = std::variant<ResizeConfig, RandomResizedCropConfig, CenterCropConfig, RandomCropConfig,
                                     RandomFlipConfig, ColorJitterConfig, NormalizeConfig, OneHotConfig, MixupConfig>;

const ConfigTable& ConfigTableOf(const ResizeConfig*);
const ConfigTable& ConfigTableOf(const RandomResizedCropConfig*);
const ConfigTable& ConfigTableOf(const CenterCropConfig*);
const ConfigTable& ConfigTableOf(const RandomCropConfig*);
const ConfigTable& ConfigTableOf(const RandomFlipConfig*);
const ConfigTable& ConfigTableOf(const ColorJitterConfig*);
const ConfigTable& ConfigTableOf(const NormalizeConfig*);
const ConfigTable& ConfigTableOf(const OneHotConfig*);
const ConfigTable& ConfigTableOf(const MixupConfig*);

// The place of a transform in the only order there is: resize or random_resized_crop, center_crop or random_crop,
// random_flip, color_jitter, normalize. 0 for those that concern labels.
int PlaceInOrder(const TransformConfig& transform);
const char* NameOf(const TransformConfig& transform);

}  // namespace tenon
