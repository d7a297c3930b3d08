#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tests/e2e/run_case.h"
#include "tests/support/rank_processes.h"

namespace tenon::testing_support {

// The words of one program started `size` times with the variables of a launcher, as ranks of one run on this machine; or of
// several launchers, each of which counts its own processes alone.
class RankRun {
 public:
  RankRun(const std::vector<std::string>& words, int size, int launchers = 1) {
    const std::string port = std::to_string(FreePort());
    const int each = size / launchers;
    for (int rank = 0; rank < size; ++rank) {
      processes_.push_back(std::make_unique<ToolProcess>(
          words,
          std::vector<std::string>{"RANK=" + std::to_string(rank), "LOCAL_RANK=" + std::to_string(rank % each),
                                   "WORLD_SIZE=" + std::to_string(size), "LOCAL_WORLD_SIZE=" + std::to_string(each),
                                   "GROUP_RANK=" + std::to_string(rank / each), "MASTER_ADDR=127.0.0.1",
                                   "MASTER_PORT=" + port, "TENON_ONE_MACHINE=1"}));
    }
  }
  ToolProcess& rank(std::size_t rank) { return *processes_[rank]; }
  std::vector<ToolResult> Wait() {
    std::vector<ToolResult> results;
    for (auto& process : processes_) results.push_back(process->Wait());
    return results;
  }

 private:
  std::vector<std::unique_ptr<ToolProcess>> processes_;
};

}  // namespace tenon::testing_support
