#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/base/status.h"

namespace tenon {

// summary.json of a run; the members are its keys, in this order, and are never renamed. Times in milliseconds, sizes
// in 2^20 bytes, losses in nats. What was not measured is absent here and null in the file, as is a value that is not
// finite.
struct RunSummary {
  std::string status = "ok";  // ok, failed, interrupted
  std::string reason;         // of another status than ok
  std::int64_t seed = 0;
  std::string device;
  std::string mode;
  std::int64_t threads = 0;
  std::int64_t epochs = 0;  // finished ones
  std::int64_t steps = 0;
  std::vector<double> train_loss;  // a value an epoch
  std::optional<double> test_loss;
  std::optional<double> test_accuracy;  // fraction
  std::map<std::string, double> test_metrics;
  std::optional<double> samples_per_s;
  struct StepMs {
    std::optional<double> p50, p99, data_wait, comm;
  } step_ms;
  std::optional<double> first_step_ms;
  std::optional<double> peak_rss_mb;
  std::optional<double> device_peak_mb;
  std::optional<double> plan_mb;
  struct KernelCount {
    std::int64_t fast = 0;
    std::int64_t reference = 0;
  };
  std::map<std::string, KernelCount> kernels;   // by operator
  std::map<std::string, std::int64_t> fusions;  // by name
  struct PlanCache {
    std::int64_t hits = 0, misses = 0, evictions = 0;
  } plan_cache;
  struct Fallback {
    std::string node, op, device, reason;
  };
  std::vector<Fallback> fallbacks;
  struct Copy {
    std::string from, to;
    std::int64_t count = 0;
    double mb = 0;
  };
  std::vector<Copy> copies;
  std::int64_t skipped_samples = 0;
  std::int64_t skipped_steps = 0;
  std::string weights_sha256;
  struct Plugin {
    std::string id, version, path;
  };
  std::vector<Plugin> plugins;
  std::vector<std::string> warnings;
  std::int64_t rank = 0;
  std::int64_t world_size = 1;
};

// The text of summary.json, ended by a newline.
std::string ToJson(const RunSummary& summary);

// Writes it; the file appears complete or not at all.
Status WriteRunSummary(const RunSummary& summary, const std::string& path);

}  // namespace tenon
