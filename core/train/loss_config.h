#pragma once

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

namespace tenon {

struct ConfigTable;

// What is minimised (section `loss`). Every loss is the mean over the batch.

// Against class numbers.
struct SoftmaxCrossEntropyConfig {
  static constexpr const char* kType = "softmax_cross_entropy";
  double label_smoothing = 0;
  std::optional<std::int64_t> ignore_index;
  std::vector<double> class_weights;
};
struct NllConfig {
  static constexpr const char* kType = "nll";
  std::optional<std::int64_t> ignore_index;
  std::vector<double> class_weights;
};

// Against values of the output's shape.
struct MseConfig {
  static constexpr const char* kType = "mse";
};
struct L1Config {
  static constexpr const char* kType = "l1";
};
struct SmoothL1Config {
  static constexpr const char* kType = "smooth_l1";
  double beta = 1;
};
struct BceWithLogitsConfig {
  static constexpr const char* kType = "bce_with_logits";
  std::vector<double> pos_weight;
};

using LossConfig =
    std::variant<SoftmaxCrossEntropyConfig, MseConfig, L1Config, SmoothL1Config, BceWithLogitsConfig, NllConfig>;

// Whether the labels are values of the output's shape, not class numbers.
bool ComparesValues(const LossConfig& loss);

const ConfigTable& ConfigTableOf(const SoftmaxCrossEntropyConfig*);
const ConfigTable& ConfigTableOf(const NllConfig*);
const ConfigTable& ConfigTableOf(const MseConfig*);
const ConfigTable& ConfigTableOf(const L1Config*);
const ConfigTable& ConfigTableOf(const SmoothL1Config*);
const ConfigTable& ConfigTableOf(const BceWithLogitsConfig*);

}  // namespace tenon
