#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/train/run_config.h"
#include "core/train/run_ranks.h"
#include "core/train/run_summary.h"

namespace tenon {

struct TrainerOptions {
  RunConfig config;
  std::vector<std::string> plugin_dirs;
  bool resume = false;
  std::string resume_from;  // a checkpoint file; empty: the newest of the output folder
  bool lenient = false;     // a checkpoint that does not fit exactly: take what fits, say what did not
  bool dry_run = false;     // open data and plugins, plan, train nothing
  std::string profile;      // file for the trace of a profile; empty: none
  JoinFn join = JoinRun;    // how the processes of the run meet, where a launcher started several
  // What started the run, without --output and --resume: told to whoever interrupts it.
  std::vector<std::string> command;
};

// What a run came to. `status` is OK for a finished and for an interrupted run; `signal` tells which.
struct TrainerResult {
  Status status;
  int signal = 0;
  RunSummary summary;
};

// Trains as the configuration says and writes the output folder (architecture of a run: docs/reference/run_folder.md). A
// failure is in the result, and in summary.json where the folder exists already. Main thread; handles SIGINT and SIGTERM
// while it runs: the first finishes the step, saves and says how to go on, the second ends the process at once.
TrainerResult Train(const TrainerOptions& options);

}  // namespace tenon
