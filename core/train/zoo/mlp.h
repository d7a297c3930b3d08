#pragma once

#include <cstdint>
#include <vector>

#include "core/config/table.h"

namespace tenon {

struct MlpConfig {
  static constexpr const char* kType = "mlp";
  std::vector<std::int64_t> hidden{512, 512};
  std::int64_t num_classes = 10;
};
const ConfigTable& ConfigTableOf(const MlpConfig*);
std::vector<ConfigNode> LayersOf(const MlpConfig& config, const Place& place);

}  // namespace tenon
