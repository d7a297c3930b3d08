#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tests/e2e/run_case.h"
#include "tests/support/rank_processes.h"

namespace tenon::testing_support {

// The words of one program started `size` times with the variables of a launcher, as ranks of one run on this machine.
class RankRun {
 public:
  RankRun(const std::vector<std::string>& words, int size) {
    const std::string port = std::to_string(FreePort());
    for (int rank = 0; rank < size; ++rank) {
      const std::string number = std::to_string(rank), count = std::to_string(size);
      processes_.push_back(std::make_unique<ToolProcess>(
          words,
          std::vector<std::string>{"RANK=" + number, "LOCAL_RANK=" + number, "WORLD_SIZE=" + count,
                                   "LOCAL_WORLD_SIZE=" + count, "MASTER_ADDR=127.0.0.1", "MASTER_PORT=" + port}));
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
