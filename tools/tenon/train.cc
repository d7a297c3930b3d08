#include "tools/tenon/train.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <map>

#include "core/base/number.h"
#include "core/base/text.h"
#include "core/comm/run_series.h"
#include "core/train/restart.h"
#include "core/train/trainer.h"
#include "tools/cli/cli.h"

namespace tenon {
namespace {

Result<std::vector<std::int64_t>> ParseSeeds(const std::string& text) {
  std::vector<std::int64_t> seeds;
  TENON_INVALID_IF(Trim(text).empty(), "--repeat-seeds takes whole numbers such as 1,2,3; there is none.");
  for (const std::string& part : Split(text, ',')) {
    const auto seed = ParseNumber<std::int64_t>(Trim(part));
    TENON_INVALID_IF(!seed || *seed < 0, "--repeat-seeds takes whole numbers such as 1,2,3; '{}' is none.", part);
    TENON_INVALID_IF(std::find(seeds.begin(), seeds.end(), *seed) != seeds.end(),
                     "--repeat-seeds names the seed {} twice.", *seed);
    seeds.push_back(*seed);
  }
  return seeds;
}

void PrintEnd(const TrainerOptions& options, const RunSummary& summary) {
  std::string line = fmt::format("{}: {} steps", options.config.name, summary.steps);
  if (summary.skipped_steps > 0) line += fmt::format(" ({} skipped)", summary.skipped_steps);
  if (summary.step_ms.p50) line += fmt::format(", {:.3f} ms a step", *summary.step_ms.p50);
  if (summary.samples_per_s) line += fmt::format(", {:.0f} samples/s", *summary.samples_per_s);
  if (summary.peak_rss_mb) line += fmt::format(", peak {:.0f} MB", *summary.peak_rss_mb);
  std::printf("%s\n", line.c_str());
  std::string kernels;
  std::int64_t fast = 0, reference = 0;
  for (const auto& entry : summary.kernels) {
    fast += entry.second.fast;
    reference += entry.second.reference;
    if (entry.second.reference > 0) kernels += (kernels.empty() ? "" : ", ") + entry.first;
  }
  if (reference > 0)
    std::printf("kernels: %ld fast, %ld reference (%s)\n", static_cast<long>(fast), static_cast<long>(reference),
                kernels.c_str());
  if (summary.test_accuracy) std::printf("test accuracy %.4f\n", *summary.test_accuracy);
}

int RunOnce(const TrainerOptions& options, RunSummary* summary) {
  TrainerResult result = Train(options);
  *summary = result.summary;
  if (!result.status.ok()) return cli::Report(result.status);
  if (result.signal != 0) return 128 + result.signal;
  if (!options.dry_run) PrintEnd(options, result.summary);
  return 0;
}

void PrintSpread(const std::string& name, const std::vector<double>& values) {
  double mean = 0, spread = 0;
  for (const double value : values) mean += value / static_cast<double>(values.size());
  for (const double value : values) spread += (value - mean) * (value - mean);
  spread = values.size() > 1 ? std::sqrt(spread / static_cast<double>(values.size() - 1)) : 0.0;
  std::printf("%s over %zu seeds: mean %.4f, standard deviation %.4f\n", name.c_str(), values.size(), mean, spread);
}

// "trace.json" -> "trace_seed_3.json"
std::string WithSeed(const std::filesystem::path& file, std::int64_t seed) {
  const std::string name = fmt::format("{}_seed_{}{}", file.stem().string(), seed, file.extension().string());
  return (file.parent_path() / name).string();
}

// One run after the other; the first that fails ends them all.
int RunSeeds(TrainerOptions options, const std::vector<std::int64_t>& seeds) {
  const std::filesystem::path base = options.config.output.resolved;
  const std::vector<std::string> command = options.command;
  const std::string profile = options.profile;
  std::map<std::string, std::vector<double>> values;  // by metric
  RunSeries series(options.join);
  options.join = [&series](const Rank& rank, const Handshake& handshake) { return series.Next(rank, handshake); };
  for (const std::int64_t seed : seeds) {
    options.config.seed = seed;
    options.config.output.resolved = base / fmt::format("seed_{}", seed);
    if (!profile.empty()) options.profile = WithSeed(profile, seed);
    options.command = command;
    options.command.insert(options.command.end(), {"--set", fmt::format("seed={}", seed)});
    RunSummary summary;
    std::printf("seed %ld\n", static_cast<long>(seed));
    const int code = RunOnce(options, &summary);
    if (code != 0) {
      std::fflush(stdout);
      std::fprintf(stderr, "error: The run with seed %ld ended with exit code %d.\n", static_cast<long>(seed), code);
      return code;
    }
    for (const auto& metric : summary.validation_metrics) values["validation " + metric.first].push_back(metric.second);
    for (const auto& metric : summary.test_metrics) values["test " + metric.first].push_back(metric.second);
  }
  for (const auto& metric : values) PrintSpread(metric.first, metric.second);
  return 0;
}

std::vector<std::string> CommandOf(const TrainOptions& options) {
  std::vector<std::string> words = {"tenon", "train", options.config};
  for (const std::string& setting : options.overrides) words.insert(words.end(), {"--set", setting});
  for (const std::string& folder : options.plugin_dirs) words.insert(words.end(), {"--plugin-dir", folder});
  return words;
}

}  // namespace

int RunTrain(const TrainOptions& options) {
  TrainerOptions trainer;
  auto config = LoadRunConfig({options.config, options.overrides, {}});
  if (!config.ok()) return cli::Report(config.status());
  trainer.config = std::move(config).value();
  if (!options.output.empty()) trainer.config.output = {options.output, std::filesystem::absolute(options.output), {}};
  trainer.plugin_dirs = options.plugin_dirs;
  trainer.resume = options.resume;
  trainer.resume_from = options.resume_from;
  trainer.lenient = options.lenient;
  trainer.dry_run = options.dry_run;
  trainer.profile = options.profile;
  trainer.command = CommandOf(options);
  const Result<Rank> rank = RankFromEnvironment();
  if (rank.ok() && !options.dry_run && GoesOnAfterRestart(trainer.config, *rank)) {
    trainer.resume = true;
    trainer.resume_from.clear();
  }
  if (options.dry_run && !options.profile.empty())
    return cli::Report(InvalidArgument("--profile records a training, but --dry-run trains nothing."));
  if (options.lenient && !options.resume)
    return cli::Report(InvalidArgument("--lenient says how to take a checkpoint and needs --resume."));
  if (options.repeat_seeds) {
    auto seeds = ParseSeeds(*options.repeat_seeds);
    if (!seeds.ok()) return cli::Report(seeds.status());
    return RunSeeds(std::move(trainer), *seeds);
  }
  RunSummary summary;
  return RunOnce(trainer, &summary);
}

}  // namespace tenon
