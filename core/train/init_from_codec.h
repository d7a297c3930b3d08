#pragma once

#include "core/config/fields.h"
#include "core/train/train_config.h"

namespace tenon {

// `init_from: weights.ckpt` or `init_from: {path: weights.ckpt, strict: false}`.
template <>
struct ConfigCodec<InitFromConfig> {
  static ConfigType Type();
  static void Read(const ConfigNode& node, const Bounds& bounds, InitFromConfig& out, ConfigReader& reader);
  static ConfigNode Write(const InitFromConfig& value);
};

}  // namespace tenon
