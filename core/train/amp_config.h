#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/config/fields.h"

namespace tenon {

struct ConfigTable;

// What the gradients of a low-precision run are multiplied with, so that small ones do not become zero.
struct LossScaleConfig {
  enum class Kind { kAuto, kNone, kFixed, kDynamic };
  Kind kind = Kind::kAuto;    // auto: dynamic for fp16, none for bf16
  double scale = 16777216.0;  // fixed: always; dynamic: at the start
  double factor = 2.0;        // dynamic: divides after an overflow, multiplies after `window` steps without one
  std::int64_t window = 2000;
  std::int64_t limit = 1000;  // so many steps with an overflow in a row end the run
};

enum class AmpLevel { kO0, kO1, kO2, kO3, kAuto };
enum class AmpDType { kBF16, kFP16 };

// Mixed precision (section `amp`). The text `bf16` or `fp16` means level O2 with that dtype, as a map without a level does.
// A run without the section has level O0.
struct AmpConfig {
  AmpLevel level = AmpLevel::kO2;
  AmpDType dtype = AmpDType::kBF16;
  std::vector<std::string> keep{};
  LossScaleConfig loss_scale{};

  bool on() const { return level != AmpLevel::kO0; }
};

std::vector<std::string> ConfigNamesOf(AmpLevel);
std::vector<std::string> ConfigNamesOf(AmpDType);
const ConfigTable& ConfigTableOf(const AmpConfig*);

// `auto`, `none`, `dynamic`, a number, or {init, factor, window, limit} for dynamic.
template <>
struct ConfigCodec<LossScaleConfig> {
  static ConfigType Type();
  static void Read(const ConfigNode& node, const Bounds& bounds, LossScaleConfig& out, ConfigReader& reader);
  static ConfigNode Write(const LossScaleConfig& value);
};

// A map, or a dtype alone.
template <>
struct ConfigCodec<AmpConfig> {
  static ConfigType Type();
  static void Read(const ConfigNode& node, const Bounds& bounds, AmpConfig& out, ConfigReader& reader);
  static ConfigNode Write(const AmpConfig& value);
};

}  // namespace tenon
