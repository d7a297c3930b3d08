// Ranks as processes: this program again, with the name of what the rank does. Its output is what the test sees.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tests/support/socket_store.h"
#include "tests/support/temp_folder.h"

namespace tenon::testing_support {

// What a rank is told.
struct WorkerArguments {
  std::string scenario;
  std::uint32_t rank = 0, size = 1;
  std::vector<std::uint32_t> nodes;  // node of every rank
  int store = -1;
  std::string extra;  // of the scenario
};

struct WorkerPlan {
  std::string scenario;
  std::uint32_t size = 2;
  std::vector<std::uint32_t> nodes;  // empty: all on one
  std::string extra;
  std::map<std::string, std::string> environment;
  std::vector<std::string> before;      // command of each node, such as "ip netns exec a"
  std::vector<std::uint32_t> left_out;  // ranks that are not started
};

class Workers {
 public:
  explicit Workers(const WorkerPlan& plan);
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  void StartLate(std::uint32_t rank);  // of left_out
  void Signal(std::uint32_t rank, int number) const;
  // Waits until the rank has printed `text`; false after 20 s.
  bool Printed(std::uint32_t rank, const std::string& text) const;
  // What the rank has printed so far.
  std::string Text(std::uint32_t rank) const { return ReadFile(PathOf(rank)); }
  // Waits for its end.
  struct Result {
    int exit_code = 0;  // negative: the signal that ended it
    std::string text;   // both outputs
  };
  Result Wait(std::uint32_t rank);

 private:
  void Start(std::uint32_t rank);
  std::string PathOf(std::uint32_t rank) const { return folder_ / std::to_string(rank); }

  WorkerPlan plan_;
  TempFolder folder_;
  StoreServer server_;
  std::vector<pid_t> children_;
};

// Runs the scenario of a rank; the process's exit code.
int RunWorker(const WorkerArguments& arguments);
// From the command line of a rank.
WorkerArguments ParseWorker(char** argv);

}  // namespace tenon::testing_support
