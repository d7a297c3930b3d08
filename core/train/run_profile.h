#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/profile/session.h"
#include "core/train/run_config.h"
#include "core/train/run_summary.h"

namespace tenon {

// `--profile FILE` of a run: what is recorded when, and the trace and table that come of it. Without a file it does
// nothing. Only what is wrong with the file before the training is an error.
class RunProfile {
 public:
  RunProfile(std::string path, const RunConfig& config) : path_(std::move(path)), config_(config) {}

  // Can the file be written? One inside the folder of the run is only looked at when `folder_open`.
  Status Check(bool folder_open) const;

  // Records from here, unless the window of the config starts with a step.
  void Start(exec::Runtime& runtime);
  // Around each step, counted from 1.
  void BeginStep(exec::Runtime& runtime, std::int64_t step);
  void EndStep(std::int64_t step);
  // Ends the recording and writes the file. Returns the lines to show.
  std::vector<std::string> Finish(RunSummary& summary);

  // Null while nothing is recorded.
  ActivityLog* log() const { return recording_ ? &session_->log() : nullptr; }

 private:
  bool InFolderOfRun() const;
  void Record(exec::Runtime& runtime);
  void End();

  std::string path_;
  const RunConfig& config_;
  std::unique_ptr<profile::Session> session_;
  bool recording_ = false;
  bool started_ = false;  // the run has come to its steps
};

}  // namespace tenon
