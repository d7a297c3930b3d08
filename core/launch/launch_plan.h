#pragma once

#include <set>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/comm/rank.h"
#include "core/launch/launch_options.h"

namespace tenon {

// One process of the job that this call starts.
struct WorkerPlan {
  std::uint32_t rank = 0, local_rank = 0;
  std::string log;         // absolute path
  std::vector<int> cores;  // empty: all
  bool tailed = false;
};

// What a call of the launcher will do. Nothing is started and nothing is written to make it.
struct LaunchPlan {
  LaunchOptions options;
  std::vector<std::string> command;  // the program as a path, and its arguments
  std::string log_folder;            // absolute
  std::uint32_t node = 0;
  std::string node_from;        // why it is that node: "--node_rank", "JOB_COMPLETION_INDEX", empty: one node
  bool asks_for_ranks = false;  // several nodes that have no number: the scheduler numbers them
  bool serves = false;          // the scheduler runs here
  std::vector<WorkerPlan> workers;

  bool one_node() const { return options.worker_num == options.local_worker_num; }
};

// Checks the flags; an error says which, with both values.
Result<LaunchPlan> MakeLaunchPlan(const LaunchOptions& options, const Variables& variables);

// Numbers the workers from `first_rank`.
void NumberWorkers(LaunchPlan& plan, std::uint32_t first_rank);

// Environment of a worker: that of the caller without what other launchers say about ranks, and the variables of the job.
struct JobFacts {
  std::string job;
  std::uint16_t port = 0;
  std::uint32_t generation = 0;
  std::int64_t started = 0;  // seconds since 1970, of the first start
};
std::vector<std::string> WorkerEnvironment(const LaunchPlan& plan, const WorkerPlan& worker, const JobFacts& facts,
                                           const std::vector<std::string>& inherited);

// Cores of each of `workers` local workers by --bind_core: "True" deals `usable` out in order; JSON such as
// {"device0": ["0-3"]} names them.
Result<std::vector<std::vector<int>>> BindCores(const std::string& flag, std::size_t workers,
                                                const std::vector<int>& usable);
// The same by NUMA node for --bind_numa.
Result<std::vector<std::vector<int>>> BindNuma(const std::string& flag, std::size_t workers,
                                               const std::vector<int>& usable);

}  // namespace tenon
