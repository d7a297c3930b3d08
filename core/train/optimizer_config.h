#pragma once

#include <array>
#include <variant>

namespace tenon {

struct ConfigTable;

// How weights are updated (section `optimizer`).
struct SgdConfig {
  static constexpr const char* kType = "sgd";
  double lr = 0.01;
  double momentum = 0.0;
  double weight_decay = 0.0;
  bool nesterov = false;
};
struct AdamConfig {
  static constexpr const char* kType = "adam";
  double lr = 0.001;
  std::array<double, 2> betas{0.9, 0.999};
  double eps = 1e-8;
  double weight_decay = 0.0;
};
struct AdamWConfig {
  static constexpr const char* kType = "adamw";
  double lr = 0.001;
  std::array<double, 2> betas{0.9, 0.999};
  double eps = 1e-8;
  double weight_decay = 0.01;
};
using OptimizerConfig = std::variant<SgdConfig, AdamConfig, AdamWConfig>;

double LearningRate(const OptimizerConfig& optimizer);

const ConfigTable& ConfigTableOf(const SgdConfig*);
const ConfigTable& ConfigTableOf(const AdamConfig*);
const ConfigTable& ConfigTableOf(const AdamWConfig*);

}  // namespace tenon
