#include "core/launch/final_report.h"

#include <algorithm>
#include <cstdio>

#include "core/base/text.h"

namespace tenon {
namespace {

constexpr std::size_t kLogLines = 10;

// The worker that failed first: the one that the cause names, else the first that ended badly by itself.
const WorkerState* FirstOf(const AttemptResult& result) {
  const WorkerState* first = nullptr;
  for (const WorkerState& worker : result.workers) {
    if (result.first_rank && worker.plan.rank == *result.first_rank) return &worker;
    if (result.first_rank || !worker.end || worker.end->good() || worker.end->by_us) continue;
    if (first == nullptr || worker.end->at_ns < first->end->at_ns) first = &worker;
  }
  return first;
}

}  // namespace

void PrintFinalReport(const LaunchPlan& plan, const AttemptResult& result) {
  std::fflush(stdout);
  const WorkerState* first = FirstOf(result);
  std::string text;
  if (!result.cause.empty()) text += fmt::format("error: The job failed: {}.\n", result.cause);
  if (first != nullptr) {
    text += fmt::format("  rank {}: {}\n  its log: {}\n", first->plan.rank,
                        first->end ? first->end->Describe() : "still running", first->plan.log);
    for (const std::string& line : LastLines(first->plan.log, kLogLines)) text += fmt::format("    | {}\n", line);
  } else if (result.first_rank) {
    text += fmt::format("  rank {} ran on another node; its log is there.\n", *result.first_rank);
  }
  std::vector<std::string> others;
  for (const WorkerState& worker : result.workers) {
    if (&worker == first || !worker.end) continue;
    others.push_back(fmt::format("rank {}: {}", worker.plan.rank, worker.end->Describe()));
  }
  if (!others.empty()) text += fmt::format("  others: {}\n", Join(others, "; "));
  text += fmt::format("Distributed job exited with exception. Please check logs in directory: {}.\n", plan.log_folder);
  std::fputs(text.c_str(), stderr);
}

int FinalExitCode(const AttemptResult& result) {
  if (result.interrupted) return 128 + result.signal;
  if (result.refused) return 3;
  const WorkerState* first = FirstOf(result);
  if (first != nullptr && first->end && !first->end->good()) return first->end->ExitCode();
  return 1;
}

}  // namespace tenon
