// All-reduce of 2 ranks through comm_hccl_sim:
//   comm_bench hook|private BYTES [ROUNDS [COMMAND-OF-RANK-0 COMMAND-OF-RANK-1]]
// Prints the median time in microseconds from the last arrival until both ranks have read every element. The commands, if given,
// are put before the program that a rank is ("ip netns exec ma"); the ranks are then on nodes of their own.
#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <sstream>

#include "benchmarks/comm/measure.h"
#include "tenon/abi/collective.h"
#include "tests/support/collective_host.h"

namespace tenon::bench {
namespace {

using testing_support::CollectiveHost;
using testing_support::CommSetting;
using testing_support::Ending;
using testing_support::NewCollective;

constexpr int kRanks = 2;

void Need(const Ending& ending, const char* what) {
  if (ending.code == TENON_OK) return;
  std::fprintf(stderr, "%s: %d %s\n", what, ending.code, ending.text.c_str());
  std::exit(1);
}

// Where a rank's values and the result are.
struct Places {
  float* send;
  float* receive;
};

// In a block of the hook each rank has a part, and the result takes the place of the first one's.
Places HookPlaces(CollectiveHost& host, tenon_comm* comm, int rank, std::size_t bytes) {
  tenon_comm_buffer_info info = TENON_INIT(tenon_comm_buffer_info);
  Need({host.table().buffer_alloc(comm, bytes * kRanks, 4096, &info, host.sink()), host.last_error()}, "buffer_alloc");
  auto* base = reinterpret_cast<char*>(info.address);
  return {reinterpret_cast<float*>(base + static_cast<std::size_t>(rank) * bytes), reinterpret_cast<float*>(base)};
}

Places PrivatePlaces(std::size_t bytes) {
  auto* memory = static_cast<float*>(std::aligned_alloc(4096, std::max<std::size_t>(bytes, 4096)));
  return {memory, memory};
}

// argv: program "rank" MODE BYTES ROUNDS RANK NODES STORE TIMES
int RunRank(char** argv) {
  const std::string mode = argv[2];
  const std::size_t bytes = std::strtoull(argv[3], nullptr, 10), count = bytes / sizeof(float);
  const int rounds = std::atoi(argv[4]), rank = std::atoi(argv[5]), nodes = std::atoi(argv[6]);
  testing_support::StoreClient store(std::atoi(argv[7]));
  const std::size_t table = sizeof(std::int64_t) * static_cast<std::size_t>(rounds * kRanks);
  auto* starts =
      static_cast<std::int64_t*>(mmap(nullptr, 2 * table, PROT_READ | PROT_WRITE, MAP_SHARED, std::atoi(argv[8]), 0));
  std::int64_t* ends = starts + rounds * kRanks;
  // A core for each rank, as MPI binds its ranks.
  cpu_set_t core;
  CPU_ZERO(&core);
  CPU_SET(rank, &core);
  if (sched_setaffinity(0, sizeof core, &core) != 0) return 1;
  CollectiveHost host(TENON_HCCL_PLUGIN, &store);
  CommSetting setting;
  setting.rank = static_cast<std::uint32_t>(rank);
  setting.size = kRanks;
  setting.node = nodes == 1 ? "here" : "node " + std::to_string(rank);
  tenon_comm* comm = nullptr;
  Need(host.Create(setting, &comm), "comm_create");
  // Two blocks in turn: a fast rank fills the next one while a slow one still reads.
  Places turns[2];
  for (Places& places : turns) places = mode == "hook" ? HookPlaces(host, comm, rank, bytes) : PrivatePlaces(bytes);
  if (mode != "hook") turns[1] = turns[0];
  const std::uint64_t expected = ExpectedChecksum(count, kRanks);
  testing_support::CollectiveToken token;
  for (int round = 0; round < rounds; ++round) {
    const Places& places = turns[round % 2];
    Fill(places.send, count, rank);
    Need(host.Run(&tenon_collective_vtable::barrier, comm, NewCollective(nullptr, nullptr, 0, 0)), "barrier");
    const std::int64_t start = NowNs();
    tenon_collective_op op = NewCollective(places.send, places.receive, count, TENON_DTYPE_F32, TENON_REDUCE_SUM);
    token.state.store(0, std::memory_order_relaxed);
    Need(host.Start(&tenon_collective_vtable::all_reduce, comm, &op, &token), "all_reduce");
    token.state.wait(0, std::memory_order_acquire);
    Need({token.code, token.text}, "all_reduce");
    const std::uint64_t sum = Checksum(places.receive, count);
    const std::int64_t end = NowNs();
    starts[round * kRanks + rank] = start;
    ends[round * kRanks + rank] = end;
    if (sum != expected) {
      std::fprintf(stderr, "rank %d: the sum is wrong in round %d\n", rank, round);
      return 1;
    }
  }
  Need(host.Run(&tenon_collective_vtable::barrier, comm, NewCollective(nullptr, nullptr, 0, 0)), "barrier");
  host.table().comm_destroy(comm);
  return 0;
}

pid_t StartRank(char** argv, int rounds, int rank, const std::string& before, int nodes, int store, int times) {
  const pid_t child = fork();
  if (child != 0) return child;
  std::vector<std::string> words;
  std::istringstream in(before);
  for (std::string word; in >> word;) words.push_back(word);
  char self[4096] = {};
  if (readlink("/proc/self/exe", self, sizeof self - 1) < 0) _exit(1);
  for (const std::string& word :
       {std::string(self), std::string("rank"), std::string(argv[1]), std::string(argv[2]), std::to_string(rounds),
        std::to_string(rank), std::to_string(nodes), std::to_string(dup(store)), std::to_string(dup(times))})
    words.push_back(word);
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  execvp(arguments[0], arguments.data());
  _exit(1);
}

int Start(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: comm_bench hook|private BYTES [ROUNDS [COMMAND-OF-RANK-0 COMMAND-OF-RANK-1]]\n");
    return 2;
  }
  const std::size_t bytes = std::strtoull(argv[2], nullptr, 10);
  const int rounds = argc > 3 ? std::atoi(argv[3]) : RoundsFor(bytes);
  const int nodes = argc > 5 ? kRanks : 1;
  const std::size_t table = sizeof(std::int64_t) * static_cast<std::size_t>(rounds * kRanks);
  const int times = memfd_create("times", MFD_CLOEXEC);
  if (ftruncate(times, static_cast<off_t>(2 * table)) != 0) return 1;
  testing_support::StoreServer server;
  std::vector<pid_t> children;
  for (int rank = 0; rank < kRanks; ++rank) {
    const int store = server.Connect();
    children.push_back(StartRank(argv, rounds, rank, nodes > 1 ? argv[4 + rank] : "", nodes, store, times));
    close(store);
  }
  bool fine = true;
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    fine = fine && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }
  if (!fine) return 1;
  const auto* starts = static_cast<std::int64_t*>(mmap(nullptr, 2 * table, PROT_READ, MAP_SHARED, times, 0));
  std::printf("%.3f\n", MedianUs(starts, starts + rounds * kRanks, rounds, kRanks));
  return 0;
}

}  // namespace
}  // namespace tenon::bench

int main(int argc, char** argv) {
  return argc > 8 && std::string(argv[1]) == "rank" ? tenon::bench::RunRank(argv) : tenon::bench::Start(argc, argv);
}
