#include "core/data/transform_config.h"

#include <optional>
#include <string>

#include "core/config/fields.h"

namespace tenon {

namespace {
constexpr double kMostPixels = 1 << 16;  // a side
}

template <>
struct ConfigCodec<ImageSize> {
  static ConfigType Type() { return {.kind = ConfigType::Kind::kCustom, .spelling = "one number, or [height, width]"}; }
  static void Read(const ConfigNode& node, const Bounds&, ImageSize& out, ConfigReader& reader) {
    const Bounds bounds = Between(1, kMostPixels);
    if (node.is_list()) {
      std::array<std::int64_t, 2> sides{};
      const std::size_t before = reader.problems().count();
      ConfigCodec<std::array<std::int64_t, 2>>::Read(node, bounds, sides, reader);
      if (reader.problems().count() == before) out = {sides[0], sides[1], false};
      return;
    }
    std::int64_t side = 0;
    const std::size_t before = reader.problems().count();
    ConfigCodec<std::int64_t>::Read(node, bounds, side, reader);
    if (reader.problems().count() == before) out = {side, side, true};
  }
  static ConfigNode Write(const ImageSize& size) {
    if (size.height == 0) return ConfigNode();
    if (size.single) return ConfigCodec<std::int64_t>::Write(size.height);
    return ConfigCodec<std::vector<std::int64_t>>::Write({size.height, size.width});
  }
};

namespace {

void CheckNormalize(const ConfigNode& node, NormalizeConfig& normalize, ConfigReader& reader) {
  const std::size_t means = normalize.mean.size();
  const std::size_t stds = normalize.std.size();
  if (means != stds && means != 1 && stds != 1) {
    reader.Complain(
        node, fmt::format("has {} values in 'mean' and {} in 'std'. Give one a channel, or one for all.", means, stds));
  }
}

void CheckRange(const ConfigNode& node, const char* key, const std::array<double, 2>& range, ConfigReader& reader) {
  if (range[0] <= range[1]) return;
  reader.Fail(node.Find(key)->place(), "'{}' is [{}, {}]; the first must not be above the second.", reader.PathTo(key),
              range[0], range[1]);
}

void CheckRandomResizedCrop(const ConfigNode& node, RandomResizedCropConfig& crop, ConfigReader& reader) {
  CheckRange(node, "scale", crop.scale, reader);
  CheckRange(node, "ratio", crop.ratio, reader);
}

}  // namespace

const ConfigTable& ConfigTableOf(const ResizeConfig*) {
  using T = ResizeConfig;
  static const ConfigTable table =
      Table<T>("The whole picture to another size, bilinear with antialiasing.",
               {Field("size", &T::size, Required(), "one number: of the short side, the other follows")});
  return table;
}

const ConfigTable& ConfigTableOf(const RandomResizedCropConfig*) {
  using T = RandomResizedCropConfig;
  static const ConfigTable table = Table<T>(
      "A random part, resized to one size, bilinear with antialiasing. In testing: the short side resized to size * 8 "
      "/ 7, then the centre.",
      {
          Field("size", &T::size, Required(), "of the result; one number: a square"),
          Field("scale", &T::scale, Above(0) & AtMost(1), "least and largest part of the area"),
          Field("ratio", &T::ratio, Between(0.01, 100), "least and largest width / height of the part"),
      },
      CheckRandomResizedCrop);
  return table;
}

const ConfigTable& ConfigTableOf(const CenterCropConfig*) {
  using T = CenterCropConfig;
  static const ConfigTable table = Table<T>("The middle of a picture; what lies outside of it is 0.",
                                            {Field("size", &T::size, Required(), "one number: a square")});
  return table;
}

const ConfigTable& ConfigTableOf(const RandomCropConfig*) {
  using T = RandomCropConfig;
  static const ConfigTable table =
      Table<T>("A window at a random place of the padded picture. In testing: the centre of the picture.",
               {
                   Field("size", &T::size, Required(), "one number: a square"),
                   Field("pad", &T::pad, Between(0, 4096), "zeros on each side before the window is chosen"),
               });
  return table;
}

const ConfigTable& ConfigTableOf(const RandomFlipConfig*) {
  using T = RandomFlipConfig;
  static const ConfigTable table = Table<T>("Left and right exchanged by chance. Not in testing.",
                                            {Field("probability", &T::probability, Between(0, 1), "how often")});
  return table;
}

const ConfigTable& ConfigTableOf(const ColorJitterConfig*) {
  using T = ColorJitterConfig;
  static const ConfigTable table =
      Table<T>("Colours changed by chance, the four in a random order. Not in testing.",
               {
                   Field("brightness", &T::brightness, Between(0, 100), "factor from 1 - x, at least 0, to 1 + x"),
                   Field("contrast", &T::contrast, Between(0, 100), "factor from 1 - x, at least 0, to 1 + x"),
                   Field("saturation", &T::saturation, Between(0, 100), "factor from 1 - x, at least 0, to 1 + x"),
                   Field("hue", &T::hue, Between(0, 0.5), "turn of the colour circle from -x to x; 0.5 is half a turn"),
               });
  return table;
}

const ConfigTable& ConfigTableOf(const NormalizeConfig*) {
  using T = NormalizeConfig;
  static const ConfigTable table = Table<T>("(value - mean) / std, a number a channel or one for all.",
                                            {
                                                Field("mean", &T::mean, Count(1, 65536), "subtracted"),
                                                Field("std", &T::std, Above(0) & Count(1, 65536), "divided by"),
                                            },
                                            CheckNormalize);
  return table;
}

const ConfigTable& ConfigTableOf(const OneHotConfig*) {
  static const ConfigTable table = Table<OneHotConfig>("A label becomes a vector with 1 at its place.", {});
  return table;
}

const ConfigTable& ConfigTableOf(const MixupConfig*) {
  using T = MixupConfig;
  static const ConfigTable table = Table<T>(
      "Each sample and its label vector mixed with those before it in the batch. Needs one_hot. Not in testing.",
      {Field("alpha", &T::alpha, Above(0) & AtMost(1000), "the share comes from Beta(alpha, alpha), once a batch")});
  return table;
}

int PlaceInOrder(const TransformConfig& transform) {
  struct Visitor {
    int operator()(const ResizeConfig&) const { return 1; }
    int operator()(const RandomResizedCropConfig&) const { return 1; }
    int operator()(const CenterCropConfig&) const { return 2; }
    int operator()(const RandomCropConfig&) const { return 2; }
    int operator()(const RandomFlipConfig&) const { return 3; }
    int operator()(const ColorJitterConfig&) const { return 4; }
    int operator()(const NormalizeConfig&) const { return 5; }
    int operator()(const OneHotConfig&) const { return 0; }
    int operator()(const MixupConfig&) const { return 0; }
  };
  return std::visit(Visitor{}, transform);
}

const char* NameOf(const TransformConfig& transform) {
  return std::visit([](const auto& one) { return std::decay_t<decltype(one)>::kType; }, transform);
}

}  // namespace tenon
