#pragma once

#include <cstdint>
#include <vector>

#include "core/config/table.h"

namespace tenon {

struct GptConfig {
  static constexpr const char* kType = "gpt";
  std::int64_t vocab = 256;
  std::int64_t width = 128;
  std::int64_t layers = 4;
  std::int64_t heads = 4;
  std::int64_t hidden = 0;
  double dropout = 0.0;
  bool tied = true;
};
const ConfigTable& ConfigTableOf(const GptConfig*);
std::vector<ConfigNode> LayersOf(const GptConfig& config, const Place& place);

}  // namespace tenon
