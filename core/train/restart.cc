#include "core/train/restart.h"

#include <chrono>
#include <cstdlib>
#include <filesystem>

#include "core/base/env.h"
#include "core/train/checkpoint_folder.h"

namespace tenon {
namespace {

namespace fs = std::filesystem;

// Seconds since 1970, from a launcher that tells; 0 where none does.
double JobStarted() { return std::strtod(GetEnv("TENON_JOB_STARTED").value_or("0").c_str(), nullptr); }

double ChangedAt(const std::string& path) {
  std::error_code error;
  const fs::file_time_type time = fs::last_write_time(path, error);
  if (error) return 0;
  const auto system = std::chrono::file_clock::to_sys(time);
  return std::chrono::duration<double>(system.time_since_epoch()).count();
}

}  // namespace

bool GoesOnAfterRestart(const RunConfig& config, const Rank& rank) {
  if (rank.generation == 0) return false;
  const CheckpointFolder folder(config.output.resolved.string() + "/checkpoints", config.name, CheckpointFormat::kCkpt,
                                0);
  const std::vector<CheckpointFile> files = folder.List();
  return !files.empty() && ChangedAt(files.back().path) >= JobStarted();
}

}  // namespace tenon
