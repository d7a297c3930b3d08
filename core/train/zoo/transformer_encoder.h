#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/config/table.h"

namespace tenon {

struct TransformerEncoderConfig {
  static constexpr const char* kType = "transformer_encoder";
  std::int64_t vocab = 0;
  std::int64_t width = 256;
  std::int64_t layers = 4;
  std::int64_t heads = 4;
  std::int64_t hidden = 0;
  std::int64_t num_classes = 10;
  std::string position = "learned";
  std::string activation = "gelu";
  bool norm_first = true;
  double dropout = 0.0;
};
const ConfigTable& ConfigTableOf(const TransformerEncoderConfig*);
std::vector<ConfigNode> LayersOf(const TransformerEncoderConfig& config, const Place& place);

}  // namespace tenon
