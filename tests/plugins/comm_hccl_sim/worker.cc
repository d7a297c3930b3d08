#include "tests/plugins/comm_hccl_sim/worker.h"

#include <map>

namespace tenon::testing_support {
namespace {

std::string Needed(const char* name) {
  const char* value = std::getenv(name);
  Require(value != nullptr, std::string(name) + " is not set");
  return value;
}

}  // namespace

Worker::Worker(const WorkerArguments& given)
    : arguments(given), store(given.store), host(Needed("TENON_HCCL_PLUGIN"), &store) {}

CommSetting Worker::Setting(const std::string& name) const {
  CommSetting setting;
  setting.name = name;
  setting.rank = rank();
  setting.size = size();
  setting.node = "node " + std::to_string(arguments.nodes[rank()]);
  return setting;
}

tenon_comm* Worker::Join(const std::string& name) {
  tenon_comm* comm = nullptr;
  const Ending ending = host.Create(Setting(name), &comm);
  Require(ending.code == TENON_OK, "comm_create: " + std::to_string(ending.code) + " " + ending.text);
  return comm;
}

void Worker::Run(CollectiveHost::Slot slot, tenon_comm* comm, tenon_collective_op op, const std::string& what) {
  const Ending ending = host.Run(slot, comm, op);
  Require(ending.code == TENON_OK,
          what + " on rank " + std::to_string(rank()) + ": " + std::to_string(ending.code) + " " + ending.text);
}

void Worker::Barrier(tenon_comm* comm) {
  Run(&tenon_collective_vtable::barrier, comm, NewCollective(nullptr, nullptr, 0, 0), "barrier");
}

void Print(const std::string& what, const Ending& ending) {
  std::printf("%s %d %lld %s\n", what.c_str(), ending.code, static_cast<long long>(ending.ns / 1'000'000),
              ending.text.c_str());
  std::fflush(stdout);
}

int RunWorker(const WorkerArguments& arguments) {
  static const std::map<std::string, Scenario> kScenarios = {{"results", &ResultsScenario},
                                                             {"messages", &MessagesScenario},
                                                             {"parts", &PartsScenario},
                                                             {"blocks", &BlocksScenario},
                                                             {"determinism", &DeterminismScenario},
                                                             {"huge", &HugeScenario},
                                                             {"device", &DeviceScenario},
                                                             {"loop", &LoopScenario},
                                                             {"mismatch", &MismatchScenario},
                                                             {"join", &JoinScenario},
                                                             {"abort", &AbortScenario},
                                                             {"leave", &LeaveScenario}};
  const auto found = kScenarios.find(arguments.scenario);
  Require(found != kScenarios.end(), "no scenario " + arguments.scenario);
  Worker worker(arguments);
  found->second(worker);
  return 0;
}

}  // namespace tenon::testing_support
