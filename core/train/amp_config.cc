#include "core/train/amp_config.h"

#include <algorithm>
#include <limits>

namespace tenon {
namespace {

using Kind = LossScaleConfig::Kind;

// Scales are multiplied as float32.
constexpr double kMostFloat = std::numeric_limits<float>::max();

const ConfigTable& DynamicTable() {
  using T = LossScaleConfig;
  static const ConfigTable table = Table<T>(
      "A scale that follows the gradients.",
      {
          Field("init", &T::scale, Between(1, kMostFloat), "scale of the first step"),
          Field("factor", &T::factor, Above(1),
                "the scale is divided by it after a step with an overflow, and multiplied after `window` without one"),
          Field("window", &T::window, AtLeast(1), "steps without an overflow before the scale grows"),
          Field("limit", &T::limit, AtLeast(1), "so many steps with an overflow in a row end the run"),
      });
  return table;
}

}  // namespace

std::vector<std::string> ConfigNamesOf(AmpLevel) { return {"O0", "O1", "O2", "O3", "auto"}; }
std::vector<std::string> ConfigNamesOf(AmpDType) { return {"bf16", "fp16"}; }

const ConfigTable& ConfigTableOf(const AmpConfig*) {
  using T = AmpConfig;
  static const ConfigTable table = Table<T>(
      "Mixed precision: parameters and losses stay float32, operators compute in a shorter type. `amp: bf16` means "
      "{level: O2, dtype: bf16}; without the section the level is O0.",
      {
          Field(
              "level", &T::level,
              "O0: nothing; O1: products, convolutions, attention and Relu; O2: all but normalisations; O3: all; auto: "
              "products, and what loses no digits follows them"),
          Field("dtype", &T::dtype, "the shorter type"),
          Field("keep", &T::keep, "layers (names or patterns such as head*) and operator types that stay float32"),
          Field("loss_scale", &T::loss_scale,
                "what the loss is multiplied with before gradients; auto: dynamic for fp16, none for bf16"),
      });
  return table;
}

ConfigType ConfigCodec<LossScaleConfig>::Type() {
  return {.kind = ConfigType::Kind::kCustom,
          .table = &DynamicTable(),
          .spelling = "auto, none, dynamic, a number, or {init, factor, window, limit}"};
}

void ConfigCodec<LossScaleConfig>::Read(const ConfigNode& node, const Bounds&, LossScaleConfig& out,
                                        ConfigReader& reader) {
  out = LossScaleConfig{};
  if (node.is_map()) {
    out.kind = Kind::kDynamic;
    return ReadFields(DynamicTable(), node, &out, reader);
  }
  std::string complaint;
  if (const auto number = node.is_scalar() ? ReadNumber(node, false, complaint) : std::nullopt) {
    out.kind = Kind::kFixed;
    return ConfigCodec<double>::Read(node, Between(1, kMostFloat), out.scale, reader);
  }
  if (!node.is_scalar())
    return reader.Complain(node, fmt::format("needs {}, but is {}.", Type().spelling, node.Describe()));
  if (const auto index = ReadName(node, {"auto", "none", "dynamic"}, reader)) {
    out.kind = *index == 0 ? Kind::kAuto : *index == 1 ? Kind::kNone : Kind::kDynamic;
  }
}

ConfigNode ConfigCodec<LossScaleConfig>::Write(const LossScaleConfig& value) {
  switch (value.kind) {
    case Kind::kAuto:
      return ConfigNode::Scalar("auto");
    case Kind::kNone:
      return ConfigNode::Scalar("none");
    case Kind::kFixed:
      return ConfigCodec<double>::Write(value.scale);
    case Kind::kDynamic:
      break;
  }
  return ConfigNode::Map(WriteFields(DynamicTable(), &value));
}

ConfigType ConfigCodec<AmpConfig>::Type() {
  return {.kind = ConfigType::Kind::kCustom,
          .table = &ConfigTableOf(static_cast<const AmpConfig*>(nullptr)),
          .spelling = "bf16, fp16, or a map"};
}

void ConfigCodec<AmpConfig>::Read(const ConfigNode& node, const Bounds&, AmpConfig& out, ConfigReader& reader) {
  out = AmpConfig{};
  if (!node.is_scalar()) return ReadFields(ConfigTableOf(&out), node, &out, reader);
  const auto levels = ConfigNamesOf(AmpLevel{});
  if (std::find(levels.begin(), levels.end(), node.text()) != levels.end())
    return reader.Complain(node, fmt::format("must be bf16, fp16 or a map; {} is a level: write {{level: {}}}.",
                                             node.text(), node.text()));
  const auto index = ReadName(node, ConfigNamesOf(AmpDType{}), reader);
  if (!index) return;
  out.dtype = static_cast<AmpDType>(*index);
}

ConfigNode ConfigCodec<AmpConfig>::Write(const AmpConfig& value) {
  return ConfigNode::Map(WriteFields(ConfigTableOf(&value), &value));
}

}  // namespace tenon
