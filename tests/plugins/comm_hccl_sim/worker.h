// What scenarios of ranks share.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>

#include "tests/plugins/comm_hccl_sim/workers.h"
#include "tests/support/collective_host.h"

namespace tenon::testing_support {

// One rank with its host.
struct Worker {
  explicit Worker(const WorkerArguments& given);
  WorkerArguments arguments;
  StoreClient store;
  CollectiveHost host;

  std::uint32_t rank() const { return arguments.rank; }
  std::uint32_t size() const { return arguments.size; }
  const tenon_collective_vtable& table() const { return host.table(); }
  CommSetting Setting(const std::string& name = "world") const;
  // Joins; ends the process with the reason when that fails.
  tenon_comm* Join(const std::string& name = "world");
  // Runs an operation that must succeed.
  void Run(CollectiveHost::Slot slot, tenon_comm* comm, tenon_collective_op op, const std::string& what);
  void Barrier(tenon_comm* comm);
};

// Ends the process with a text unless it holds.
inline void Require(bool holds, const std::string& text) {
  if (holds) return;
  std::printf("FAILED: %s\n", text.c_str());
  std::fflush(stdout);
  std::_Exit(1);
}

// "<what> <code> <milliseconds> <text>", which the test reads.
void Print(const std::string& what, const Ending& ending);

using Scenario = void (*)(Worker&);
// Every value of every operation, alone and in groups, and messages.
void ResultsScenario(Worker& worker);
void MessagesScenario(Worker& worker);
void PartsScenario(Worker& worker);
void BlocksScenario(Worker& worker);
void DeterminismScenario(Worker& worker);
void HugeScenario(Worker& worker);
void DeviceScenario(Worker& worker);
// What goes wrong.
void LoopScenario(Worker& worker);
void MismatchScenario(Worker& worker);
void JoinScenario(Worker& worker);
void AbortScenario(Worker& worker);
void LeaveScenario(Worker& worker);

}  // namespace tenon::testing_support
