#pragma once

#include <cstdint>
#include <vector>

#include "core/config/table.h"

namespace tenon {

struct LeNet5Config {
  static constexpr const char* kType = "lenet5";
  std::int64_t num_classes = 10;
};
const ConfigTable& ConfigTableOf(const LeNet5Config*);
std::vector<ConfigNode> LayersOf(const LeNet5Config& config, const Place& place);

}  // namespace tenon
