// Ranks for tests of what goes wrong: each does its part and prints how it ended.
#include <unistd.h>

#include <chrono>
#include <sstream>
#include <thread>

#include "tests/plugins/comm_hccl_sim/worker.h"

namespace tenon::testing_support {
namespace {

void SleepMs(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

Ending Reduce(Worker& worker, tenon_comm* comm, std::vector<float>* values, std::uint64_t timeout_ms = 0) {
  tenon_collective_op op =
      NewCollective(values->data(), values->data(), values->size(), TENON_DTYPE_F32, TENON_REDUCE_SUM);
  op.timeout_ns = timeout_ms * 1'000'000;
  return worker.host.Run(&tenon_collective_vtable::all_reduce, comm, op);
}

}  // namespace

// extra: "<floats> <timeout ms> <pause ms>". Reduces until something fails.
void LoopScenario(Worker& worker) {
  std::istringstream in(worker.arguments.extra);
  std::uint64_t count = 0, timeout_ms = 0;
  int pause_ms = 0;
  in >> count >> timeout_ms >> pause_ms;
  tenon_comm* comm = worker.Join();
  std::vector<float> values(count, 1);
  for (int round = 0;; ++round) {
    const Ending ending = Reduce(worker, comm, &values, timeout_ms);
    if (ending.code != TENON_OK) {
      Print("ended", ending);
      const std::int32_t sticky = worker.table().async_error(comm, worker.host.sink());
      Print("sticky", {sticky, worker.host.last_error(), 0});
      break;
    }
    if (round == 3) Print("ready", ending);
    if (pause_ms > 0) SleepMs(pause_ms);
  }
  worker.table().comm_destroy(comm);
}

// extra: what rank 0 does differently.
void MismatchScenario(Worker& worker) {
  tenon_comm* comm = worker.Join();
  std::vector<double> memory(200000, 1);
  tenon_collective_op op =
      NewCollective(memory.data(), memory.data() + 100000, 1024, TENON_DTYPE_F32, TENON_REDUCE_SUM);
  op.sequence = 7;
  CollectiveHost::Slot slot = &tenon_collective_vtable::all_reduce;
  const std::string& what = worker.arguments.extra;
  std::vector<std::uint64_t> counts(worker.size(), 2), offsets(worker.size(), 0);
  if (what == "large") op.count = 30000;
  if (what == "message") {
    slot = worker.rank() == 0 ? &tenon_collective_vtable::send : &tenon_collective_vtable::recv;
    op.peer = worker.rank() == 0 ? 1 : 0;
  }
  if (what == "varied") {
    slot = &tenon_collective_vtable::all_to_all_v;
    op.send_counts = op.receive_counts = counts.data();
    op.send_offsets = op.receive_offsets = offsets.data();
  }
  if (worker.rank() == 0) {
    if (what == "count" || what == "message") op.count = 1025;
    if (what == "large") op.count = 30001;
    if (what == "dtype") op.dtype = TENON_DTYPE_F64;
    if (what == "reduction") op.reduction = TENON_REDUCE_MAX;
    if (what == "kind") slot = &tenon_collective_vtable::broadcast;
    if (what == "scale") op.scale = 0.5;
    if (what == "varied") counts.assign(worker.size(), 3);
  }
  if (what == "fingerprint") op.fingerprint = 100 + worker.rank();
  Print("ended", worker.host.Run(slot, comm, op));
  worker.table().comm_destroy(comm);
}

// extra: "<timeout ms> <size that rank 0 believes in, 0: the true one>".
void JoinScenario(Worker& worker) {
  std::istringstream in(worker.arguments.extra);
  std::uint64_t timeout_ms = 0;
  std::uint32_t size = 0;
  in >> timeout_ms >> size;
  CommSetting setting = worker.Setting();
  setting.timeout_ns = timeout_ms * 1'000'000;
  if (worker.rank() == 0 && size != 0) setting.size = size;
  if (std::getenv("TENON_TEST_NO_NODE") != nullptr) setting.node.clear();
  tenon_comm* comm = nullptr;
  const Ending ending = worker.host.Create(setting, &comm);
  Print("joined", ending);
  for (const std::string& line : worker.host.log()) std::printf("log %s\n", line.c_str());
  if (ending.code != TENON_OK) return;
  tenon_str text{};
  worker.table().describe(comm, &text, worker.host.sink());
  std::printf("describe %s\n", std::string(sdk::Text(text)).c_str());
  worker.Barrier(comm);
  worker.table().comm_destroy(comm);
}

// Rank 0 aborts while the others wait for it.
void AbortScenario(Worker& worker) {
  tenon_comm* comm = worker.Join();
  worker.Barrier(comm);
  if (worker.rank() == 0) {
    SleepMs(200);
    worker.table().abort_mark(comm, TENON_ABORTED, sdk::Str("the loss is not a number"));
    Print("marked", {worker.table().comm_state(comm, worker.host.sink()), worker.host.last_error(), 0});
  } else {
    std::vector<float> values(100000, 1);
    Print("ended", Reduce(worker, comm, &values));
  }
  worker.table().comm_destroy(comm);
}

// Rank 1 leaves in order; the others go on. extra "exit": its process just ends.
void LeaveScenario(Worker& worker) {
  tenon_comm* comm = worker.Join();
  worker.Barrier(comm);
  if (worker.rank() == 1) {
    if (worker.arguments.extra == "exit") _exit(0);
    worker.table().comm_destroy(comm);
    Print("left", {});
    return;
  }
  SleepMs(100);
  std::vector<float> values(100000, 1);
  Print("ended", Reduce(worker, comm, &values));
  worker.table().comm_destroy(comm);
}

}  // namespace tenon::testing_support
