#pragma once

#include <cstdint>
#include <vector>

#include "core/config/table.h"

namespace tenon {

struct MobileNetV2Config {
  static constexpr const char* kType = "mobilenet_v2";
  std::int64_t num_classes = 1000;
  double dropout = 0.2;
};
const ConfigTable& ConfigTableOf(const MobileNetV2Config*);
std::vector<ConfigNode> LayersOf(const MobileNetV2Config& config, const Place& place);

}  // namespace tenon
