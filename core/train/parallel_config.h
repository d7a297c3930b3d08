#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/config/fields.h"

namespace tenon {

struct ConfigTable;
struct RunConfig;

// Gradients on their way between ranks are of this type.
enum class WireType { kFp16, kBf16 };
std::vector<std::string> ConfigNamesOf(WireType);

// Gradients travel as products of two thin matrices.
struct PowerSgdConfig {
  static constexpr const char* kType = "powersgd";
  std::int64_t rank = 4;
};
const ConfigTable& ConfigTableOf(const PowerSgdConfig*);
using HookConfig = std::variant<PowerSgdConfig>;

// When ranks meet.
struct SyncConfig {
  std::int64_t every = 1;  // steps; above 1 ranks update alone, and their parameters are averaged
};

// How the processes (ranks) of a run work together. Nothing here matters to a run of one process.
struct ParallelConfig {
  std::string comm = "auto";     // plugin of the collectives: id or file name
  double first_bucket_mb = 1;    // 2^20 bytes
  double bucket_mb = 25;         // 2^20 bytes
  std::optional<WireType> wire;  // absent: as they are
  std::optional<HookConfig> hook;
  SyncConfig sync;
  bool sync_batch_norm = false;
  double timeout_s = 1800;             // of each collective operation
  std::int64_t straggler_every = 100;  // steps between two looks; 0: none
};

const ConfigTable& ConfigTableOf(const ParallelConfig*);

// Rules between `parallel` and other sections.
void CheckParallel(const ConfigNode& node, const RunConfig& run, ConfigReader& reader);

// `{every: k}`. `async` has an error of its own, with the reason.
template <>
struct ConfigCodec<SyncConfig> {
  static ConfigType Type();
  static void Read(const ConfigNode& node, const Bounds& bounds, SyncConfig& out, ConfigReader& reader);
  static ConfigNode Write(const SyncConfig& value);
};

}  // namespace tenon
