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
  std::string math;  // exact, high
  std::int64_t threads = 0;
  std::int64_t epochs = 0;  // finished ones
  std::int64_t steps = 0;
  std::vector<std::optional<double>> train_loss;  // an epoch; nothing when all its steps were skipped
  std::optional<double> test_loss;
  std::optional<double> test_accuracy;  // fraction
  std::map<std::string, double> test_metrics;
  std::optional<double> samples_per_s;
  struct StepMs {
    std::optional<double> p50, p99, data_wait, comm;
  } step_ms;
  std::optional<double> data_wait_share;  // of the time of all steps, with the waits for their batches
  std::optional<double> first_step_ms;
  std::optional<double> peak_rss_mb;
  std::optional<double> device_peak_mb;
  std::optional<double> plan_mb;
  struct KernelCount {
    std::int64_t fast = 0;
    std::int64_t reference = 0;
    std::int64_t high = 0;  // of the fast ones: as math: high permits
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
  std::int64_t skipped_steps = 0;    // whose gradients overflowed
  std::optional<double> loss_scale;  // the last one, where the loss is scaled
  std::string weights_sha256;
  struct Plugin {
    std::string id, version, path;
  };
  std::vector<Plugin> plugins;
  std::vector<std::string> warnings;
  std::int64_t rank = 0;
  std::int64_t world_size = 1;

  // What of `train`, `optimizer` and `eval` was in force, and what came of it.
  std::string schedule;
  std::int64_t accumulate = 1;  // batches a step
  struct Clipping {
    std::optional<double> norm, value;  // the limits
    std::int64_t clipped_steps = 0;     // whose norm was above the limit
  };
  std::optional<Clipping> clipping;
  struct ParameterGroup {
    std::string match;
    double lr_scale = 1, weight_decay = 0;
    std::int64_t parameters = 0;
  };
  std::vector<ParameterGroup> parameter_groups;
  std::int64_t frozen_parameters = 0;
  struct InitFrom {
    std::string path;
    std::int64_t loaded = 0, missing = 0, extra = 0, mismatched = 0;
  };
  std::optional<InitFrom> init_from;
  std::optional<double> ema;  // decay of the averages that the evaluations used
  struct EarlyStop {
    std::string metric;
    std::int64_t patience = 0;
    double min_delta = 0;
    std::string mode;
    std::optional<double> best;
    std::int64_t best_epoch = 0;
    bool reached = false;
  };
  std::optional<EarlyStop> early_stop;
  std::map<std::string, double> validation_metrics;
  struct Matrix {
    std::string file;
    std::int64_t classes = 0, samples = 0, right = 0;
  };
  std::optional<Matrix> confusion_matrix;
  std::int64_t recomputed_nodes = 0;
  struct Profile {
    std::string file;
    std::int64_t events = 0, dropped = 0;
  };
  std::optional<Profile> profile;  // of a run with --profile

  // Of a run with several ranks: where the time of each went, a step on average.
  struct RankRow {
    std::int64_t rank = 0;
    double data_ms = 0, compute_ms = 0, wait_ms = 0;
  };
  std::vector<RankRow> ranks;
  struct Communication {
    std::string plugin;
    std::int64_t buckets = 0;
    double mb = 0;            // of the gradients
    double wait_ms = 0;       // a step stands still for its gradients
    double flight_ms = 0;     // a step, from the launch of each bucket to its end; what is above wait_ms is overlapped
    std::int64_t copies = 0;  // of gradients that are not computed in their bucket
    std::int64_t staged = 0;  // operations through host memory, because the plugin does not reach the device's
    double staged_mb = 0;
    std::map<std::string, std::int64_t> emulated;  // operations that the plugin lacks
  };
  std::optional<Communication> communication;
};

// The text of summary.json, ended by a newline.
std::string ToJson(const RunSummary& summary);

// Writes it; the file appears complete or not at all.
Status WriteRunSummary(const RunSummary& summary, const std::string& path);

}  // namespace tenon
