#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/launch/launch_plan.h"
#include "core/launch/log_follower.h"
#include "core/launch/scheduler.h"

namespace tenon {

// How a worker ended.
struct WorkerEnd {
  int status = 0;  // as waitpid gives it
  std::int64_t at_ns = 0;
  bool by_us = false;  // a signal of ours came first

  bool good() const { return status == 0; }
  // "exit code 3", "ended by SIGKILL (killed)", "stopped by msrun"
  std::string Describe() const;
  int ExitCode() const;  // 128 + signal for one that was ended by a signal
};

struct WorkerState {
  WorkerPlan plan;
  pid_t process = -1;
  bool stopped = false;  // by a stop signal
  std::optional<WorkerEnd> end;
};

// Everything that one start of the job needs to know at its end.
struct AttemptResult {
  bool good = false;
  bool refused = false;                     // the scheduler could not serve
  bool interrupted = false;                 // by a signal to the launcher
  int signal = 0;                           // that one
  std::string cause;                        // of the first failure, a sentence without its last stop
  std::optional<std::uint32_t> first_rank;  // that failed; nothing: none of the job, or not known
  std::vector<WorkerState> workers;
};

// Starts the workers once and watches them until all have ended: the others are given a moment after a first failure, then
// the polite signal, then the hard one. All of the caller's descendants are gone when it returns.
class Attempt {
 public:
  // `signals`: a signalfd for SIGCHLD and the signals that end a launcher.
  Attempt(const LaunchPlan& plan, const JobFacts& facts, int signals, LogFollower& follower);

  Result<AttemptResult> Run();

 private:
  Result<rendezvous::Limits> Limits() const;
  Status StartScheduler();
  Status AskForRanks();
  Status StartWorkers();
  void Watch();
  void ReadSignals();
  void Reap();
  void Notice(pid_t process, int status);
  void NoticeWorker(WorkerState& worker, int status);
  void NoticeScheduler(int status);
  void ReadNews();
  void Fail(std::string cause, std::optional<std::uint32_t> rank);
  void StopAll(std::int64_t now);
  void SignalWorkers(int number, bool stopped_only);
  bool AllEnded() const;
  std::int64_t NextMoment() const;

  LaunchPlan plan_;
  const JobFacts& facts_;
  int signals_;
  LogFollower& follower_;
  Scheduler scheduler_;
  bool scheduler_lives_ = false, complete_ = false, told_done_ = false;
  std::vector<WorkerState> workers_;
  AttemptResult result_;
  bool failed_ = false;
  std::int64_t polite_at_ = 0, hard_at_ = 0;  // 0: not planned
  bool polite_ = false, hard_ = false;
};

}  // namespace tenon
