#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/config/node.h"

namespace tenon {

struct ConfigTable;

// The run ends when a metric of the evaluations does not get better.
struct EarlyStopConfig {
  std::string metric = "loss";  // one of eval.metrics
  std::int64_t patience = 5;    // evaluations without a better value
  double min_delta = 0.0;       // a smaller change is no better value
  std::string mode = "auto";    // min | max | auto: what the metric is made for
};

// How long and in what way to train (section `train`).
struct TrainConfig {
  std::int64_t epochs = 10;
  std::optional<std::int64_t> steps;  // stop after so many, even within an epoch
  std::int64_t accumulate = 1;        // batches a step
  std::optional<double> clip_norm;    // at most one of the two
  std::optional<double> clip_value;
  std::vector<std::string> freeze;  // patterns of parameter names
  std::optional<double> ema;        // decay of averaged weights
  std::optional<EarlyStopConfig> early_stop;
  std::vector<std::string> recompute;  // patterns of layer names
};

// When and how to test (section `eval`).
struct EvalConfig {
  std::int64_t every = 1;  // epochs; 0: only after the last one
  std::vector<std::string> metrics{"loss", "accuracy"};
};

// Where the first weights come from (`init_from`): a path, or a map with further keys.
struct InitFromConfig {
  ConfigPath path;  // .ckpt, .safetensors or .npz
  std::map<std::string, std::string> rename;
  bool strict = true;
};

const ConfigTable& ConfigTableOf(const EarlyStopConfig*);
const ConfigTable& ConfigTableOf(const TrainConfig*);
const ConfigTable& ConfigTableOf(const EvalConfig*);
const ConfigTable& ConfigTableOf(const InitFromConfig*);

}  // namespace tenon
