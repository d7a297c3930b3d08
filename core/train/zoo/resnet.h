#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/config/table.h"

namespace tenon {

// How the network begins: 7x7 by steps of 2 and a pool, for images of 224 pixels, or 3x3, for small ones.
enum class ResNetStem { kImageNet, kCifar };
std::vector<std::string> ConfigNamesOf(ResNetStem);

struct ResNetConfig {
  std::int64_t num_classes = 1000;
  ResNetStem stem = ResNetStem::kImageNet;
};
struct ResNet18Config : ResNetConfig {
  static constexpr const char* kType = "resnet18";
};
struct ResNet34Config : ResNetConfig {
  static constexpr const char* kType = "resnet34";
};
struct ResNet50Config : ResNetConfig {
  static constexpr const char* kType = "resnet50";
};
const ConfigTable& ConfigTableOf(const ResNet18Config*);
const ConfigTable& ConfigTableOf(const ResNet34Config*);
const ConfigTable& ConfigTableOf(const ResNet50Config*);
std::vector<ConfigNode> LayersOf(const ResNet18Config& config, const Place& place);
std::vector<ConfigNode> LayersOf(const ResNet34Config& config, const Place& place);
std::vector<ConfigNode> LayersOf(const ResNet50Config& config, const Place& place);

}  // namespace tenon
