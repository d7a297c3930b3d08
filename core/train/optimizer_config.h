#pragma once

#include <array>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace tenon {

struct ConfigTable;

// Parameters that are updated in another way than the rest.
struct ParameterGroupConfig {
  std::string match;      // pattern of parameter names
  double lr_scale = 1.0;  // factor of the learning rate
  std::optional<double> weight_decay;
};

// How weights are updated (section `optimizer`).
struct SgdConfig {
  static constexpr const char* kType = "sgd";
  double lr = 0.01;
  double momentum = 0.0;
  double weight_decay = 0.0;
  bool nesterov = false;
  bool decay_bias_and_norm = true;
  std::vector<ParameterGroupConfig> groups;
};
struct AdamConfig {
  static constexpr const char* kType = "adam";
  double lr = 0.001;
  std::array<double, 2> betas{0.9, 0.999};
  double eps = 1e-8;
  double weight_decay = 0.0;
  bool decay_bias_and_norm = true;
  std::vector<ParameterGroupConfig> groups;
};
struct AdamWConfig {
  static constexpr const char* kType = "adamw";
  double lr = 0.001;
  std::array<double, 2> betas{0.9, 0.999};
  double eps = 1e-8;
  double weight_decay = 0.01;
  bool decay_bias_and_norm = true;
  std::vector<ParameterGroupConfig> groups;
};
struct LambConfig {
  static constexpr const char* kType = "lamb";
  double lr = 0.001;
  std::array<double, 2> betas{0.9, 0.999};
  double eps = 1e-6;
  double weight_decay = 0.0;
  bool decay_bias_and_norm = true;
  std::vector<ParameterGroupConfig> groups;
};
using OptimizerConfig = std::variant<SgdConfig, AdamConfig, AdamWConfig, LambConfig>;

double LearningRate(const OptimizerConfig& optimizer);

const ConfigTable& ConfigTableOf(const ParameterGroupConfig*);
const ConfigTable& ConfigTableOf(const SgdConfig*);
const ConfigTable& ConfigTableOf(const AdamConfig*);
const ConfigTable& ConfigTableOf(const AdamWConfig*);
const ConfigTable& ConfigTableOf(const LambConfig*);

}  // namespace tenon
