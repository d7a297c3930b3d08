#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "core/base/status.h"
#include "core/config/load.h"
#include "core/config/node.h"
#include "core/data/data_config.h"
#include "core/plugin/plugin_config.h"
#include "core/profile/profile_config.h"
#include "core/train/amp_config.h"
#include "core/train/loss_config.h"
#include "core/train/optimizer_config.h"
#include "core/train/parallel_config.h"
#include "core/train/schedule_config.h"
#include "core/train/train_config.h"
#include "core/train/zoo/zoo.h"

namespace tenon {

// Everything a run file says, typed and checked. Bounds and sentences stand in run_config.cc; the reference page
// docs/reference/config.md is made from them.

enum class RunMode { kGraph, kPynative };
enum class MathMode { kExact, kHigh };
enum class FallbackPolicy { kForbid, kWarn, kAllow };

// --- network --------------------------------------------------------------------------------------------------------

// A network of the zoo by name, or a list of layers. Exactly one of the two is set.
struct NetworkConfig {
  std::optional<ZooConfig> zoo;
  ConfigNode layers;  // a list, read by the network builder; nothing when `zoo` is set
  Place place;
};

// --- learning -------------------------------------------------------------------------------------------------------

// --- what is written ------------------------------------------------------------------------------------------------

struct CheckpointConfig {
  std::int64_t every = 1;             // epochs; 0: none
  std::optional<std::int64_t> steps;  // when set, saves every so many steps in place of `every`
  std::int64_t keep = 3;              // the newest so many stay
  std::string format = "ckpt";        // ckpt | safetensors
};

struct LogConfig {
  std::int64_t every = 10;     // steps
  std::string level = "info";  // debug | info | warning | error | critical
};

struct PassesConfig {
  std::vector<std::string> disabled;
};

struct RunConfig {
  std::string name;
  std::int64_t seed = 1;
  std::string device = "cpu";  // kind or kind:index
  RunMode mode = RunMode::kGraph;
  std::int64_t threads = 1;  // 0: all cores
  MathMode math = MathMode::kExact;
  FallbackPolicy fallback = FallbackPolicy::kForbid;
  PluginsConfig plugins;
  DataConfig data;
  NetworkConfig network;
  std::optional<InitFromConfig> init_from;
  LossConfig loss;
  OptimizerConfig optimizer;
  ScheduleConfig schedule;
  AmpConfig amp{.level = AmpLevel::kO0};
  TrainConfig train;
  ParallelConfig parallel;
  EvalConfig eval;
  CheckpointConfig checkpoint;
  LogConfig log;
  PassesConfig passes;
  ProfileConfig profile;
  std::int64_t save_graphs = 0;
  ConfigPath output;  // empty in the struct's default; after reading "runs/<name>" where nothing was written

  ConfigNode source;  // the merged tree; PlaceOf(source, "device") finds where a key was written
};

// The name of the chosen kind: "sgd", "lenet5" ...
template <class... Ts>
const char* KindOf(const std::variant<Ts...>& value) {
  return std::visit([](const auto& options) { return std::decay_t<decltype(options)>::kType; }, value);
}

const ConfigTable& ConfigTableOf(const RunConfig*);

// How much of the config is wanted. A plugin tool needs no network; unknown keys are errors in any case.
enum class RunConfigPart { kAll, kPluginsOnly };

// Loads, merges and checks a run file. All problems of the file are in one error (INVALID_ARGUMENT, one line each).
Result<RunConfig> LoadRunConfig(const ConfigSource& source, RunConfigPart part = RunConfigPart::kAll);

// As LoadRunConfig for a merged tree.
Result<RunConfig> ReadRunConfig(const ConfigNode& root, RunConfigPart part = RunConfigPart::kAll);

// The whole config as a tree, defaults included, without the sections that a config for plugins alone does not have.
ConfigNode RunConfigTree(const RunConfig& config);
// The same as YAML, defaults included; reading it again gives the same config.
std::string PrintRunConfig(const RunConfig& config);
// The same as one JSON object.
std::string PrintRunConfigJson(const RunConfig& config);

// The reference: a JSON Schema, and the page docs/reference/config.md.
std::string RunConfigSchemaJson();
std::string RunConfigSchemaMarkdown();

}  // namespace tenon
