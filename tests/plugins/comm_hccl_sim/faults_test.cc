// comm_hccl_sim: ranks that die, stop, leave, come late, abort, or mean something else. The others learn of it in time, with a
// text that names the rank.
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <sstream>
#include <thread>

#include "tenon/abi/status.h"
#include "tests/plugins/comm_hccl_sim/workers.h"

namespace tenon::testing_support {
namespace {

void SleepMs(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }
std::int64_t NowMs() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// "<what> <code> <ms> <text>" among the lines of a rank.
struct Line {
  int code = -1;
  std::int64_t ms = -1;
  std::string text;
};
Line LineOf(const std::string& output, const std::string& what) {
  std::istringstream in(output);
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string first;
    Line found;
    if (words >> first >> found.code >> found.ms && first == what) {
      std::getline(words, found.text);
      return found;
    }
  }
  ADD_FAILURE() << "no line '" << what << "' in: " << output;
  return {};
}

WorkerPlan Plan(const std::string& scenario, std::uint32_t size, const std::string& extra = "",
                std::vector<std::uint32_t> nodes = {}) {
  WorkerPlan plan;
  plan.scenario = scenario;
  plan.size = size;
  plan.extra = extra;
  plan.nodes = std::move(nodes);
  return plan;
}

// Ends rank `victim` in the middle of large reductions; what the other ranks printed, with the time since.
void KillAmong(const WorkerPlan& plan, std::uint32_t victim) {
  Workers workers(plan);
  for (std::uint32_t rank = 0; rank < plan.size; ++rank) ASSERT_TRUE(workers.Printed(rank, "ready"));
  SleepMs(30);
  const std::int64_t start = NowMs();
  workers.Signal(victim, SIGKILL);
  for (std::uint32_t rank = 0; rank < plan.size; ++rank) {
    const Workers::Result result = workers.Wait(rank);
    if (rank == victim) continue;
    const Line line = LineOf(result.text, "ended");
    EXPECT_EQ(line.code, TENON_UNAVAILABLE)
        << "rank " << rank << ", exit code " << result.exit_code << ": " << result.text;
    EXPECT_NE(line.text.find("EI0006"), std::string::npos) << line.text;
    EXPECT_NE(line.text.find("ank " + std::to_string(victim)), std::string::npos) << line.text;
    EXPECT_EQ(LineOf(result.text, "sticky").code, TENON_UNAVAILABLE);
  }
  EXPECT_LT(NowMs() - start, 3000);
}

TEST(HcclFaults, KilledInAnOperation) { KillAmong(Plan("loop", 3, "4000000 0 0"), 1); }
TEST(HcclFaults, KilledBetweenOperations) { KillAmong(Plan("loop", 3, "100 0 50"), 2); }
TEST(HcclFaults, KilledOnAnotherNode) { KillAmong(Plan("loop", 4, "1000000 0 0", {0, 0, 1, 1}), 2); }
TEST(HcclFaults, KilledOnAnotherNodeWhereItDoesNotLead) { KillAmong(Plan("loop", 4, "1000000 0 0", {0, 0, 1, 1}), 3); }

void StopAmong(const WorkerPlan& plan, std::uint32_t victim) {
  Workers workers(plan);
  for (std::uint32_t rank = 0; rank < plan.size; ++rank) ASSERT_TRUE(workers.Printed(rank, "ready"));
  const std::int64_t start = NowMs();
  workers.Signal(victim, SIGSTOP);
  for (std::uint32_t rank = 0; rank < plan.size; ++rank) {
    if (rank == victim) continue;
    const Workers::Result result = workers.Wait(rank);
    const Line line = LineOf(result.text, "ended");
    EXPECT_EQ(line.code, TENON_DEADLINE_EXCEEDED) << result.text;
    EXPECT_NE(line.text.find("EI0002"), std::string::npos) << line.text;
    EXPECT_NE(line.text.find("ank " + std::to_string(victim)), std::string::npos) << line.text;
    EXPECT_GE(line.ms, 900);
  }
  EXPECT_LT(NowMs() - start, 6000);
  workers.Signal(victim, SIGCONT);
}

TEST(HcclFaults, StoppedUntilTheTimeIsOver) { StopAmong(Plan("loop", 3, "100000 1000 1"), 2); }
TEST(HcclFaults, StoppedOnAnotherNode) { StopAmong(Plan("loop", 2, "100000 1000 1", {0, 1}), 1); }

TEST(HcclFaults, StoppedForAShortTime) {
  Workers workers(Plan("loop", 2, "100000 10000 1"));
  ASSERT_TRUE(workers.Printed(0, "ready"));
  workers.Signal(1, SIGSTOP);
  SleepMs(500);
  workers.Signal(1, SIGCONT);
  SleepMs(300);
  for (const std::uint32_t rank : {0u, 1u})
    EXPECT_EQ(workers.Text(rank).find("ended"), std::string::npos) << workers.Text(rank);
}

TEST(HcclFaults, LeftInOrder) {
  for (const char* how : {"", "exit"}) {
    Workers workers(Plan("leave", 3, how));
    const std::int64_t start = NowMs();
    for (const std::uint32_t rank : {0u, 2u}) {
      const Line line = LineOf(workers.Wait(rank).text, "ended");
      EXPECT_EQ(line.code, TENON_UNAVAILABLE) << line.text;
      EXPECT_NE(line.text.find("rank 1"), std::string::npos) << line.text;
    }
    EXPECT_LT(NowMs() - start, 3000);
  }
}

TEST(HcclFaults, AbortReachesAllWithItsReason) {
  for (const std::vector<std::uint32_t>& nodes :
       {std::vector<std::uint32_t>{0, 0, 0}, std::vector<std::uint32_t>{0, 0, 1}}) {
    Workers workers(Plan("abort", 3, "", nodes));
    EXPECT_EQ(LineOf(workers.Wait(0).text, "marked").code, TENON_ABORTED);
    for (const std::uint32_t rank : {1u, 2u}) {
      const Line line = LineOf(workers.Wait(rank).text, "ended");
      EXPECT_EQ(line.code, TENON_CANCELLED) << "rank " << rank << " of " << nodes.back() + 1 << " nodes: " << line.text;
      EXPECT_LT(line.ms, 2000);
      EXPECT_NE(line.text.find("the loss is not a number"), std::string::npos) << line.text;
    }
  }
}

// Both values of both ranks, on every rank, within a second.
TEST(HcclMismatch, IsNamedOnEveryRank) {
  const struct {
    const char* what;
    std::vector<std::string> texts;
  } cases[] = {{"count", {"all_reduce of 1025 f32", "all_reduce of 1024 f32", "operation 7"}},
               {"large", {"30001", "30000"}},
               {"dtype", {"1024 f64", "1024 f32"}},
               {"reduction", {"max", "sum"}},
               {"kind", {"broadcast", "all_reduce"}},
               {"scale", {"times 0.5"}},
               {"fingerprint", {"fingerprint 100", "fingerprint 101"}},
               {"message", {"send of 1025", "recv of 1024"}},
               {"varied", {"sends 3", "expects 2"}}};
  for (const std::vector<std::uint32_t>& nodes : {std::vector<std::uint32_t>{0, 0}, std::vector<std::uint32_t>{0, 1}}) {
    for (const auto& one : cases) {
      Workers workers(Plan("mismatch", 2, one.what, nodes));
      for (const std::uint32_t rank : {0u, 1u}) {
        const Workers::Result result = workers.Wait(rank);
        const Line line = LineOf(result.text, "ended");
        EXPECT_EQ(line.code, TENON_INVALID_ARGUMENT) << one.what << ": " << result.text;
        EXPECT_LT(line.ms, 1000) << one.what;
        EXPECT_NE(line.text.find("EI0005"), std::string::npos) << one.what << ": " << line.text;
        for (const std::string& text : one.texts) {
          // Of blocks that differ one of the two directions is named.
          const bool named = line.text.find(text) != std::string::npos ||
                             (std::string(one.what) == "varied" && line.text.find("sends") != std::string::npos);
          EXPECT_TRUE(named) << one.what << ": '" << text << "' is not in " << line.text;
        }
      }
    }
  }
}

TEST(HcclJoin, NamesAllWhoDidNotCome) {
  WorkerPlan plan = Plan("join", 4, "500");
  plan.left_out = {1, 3};
  Workers workers(plan);
  for (const std::uint32_t rank : {0u, 2u}) {
    const Line line = LineOf(workers.Wait(rank).text, "joined");
    EXPECT_EQ(line.code, TENON_DEADLINE_EXCEEDED) << line.text;
    EXPECT_NE(line.text.find("EI0006: Ranks 1, 3 of 4"), std::string::npos) << line.text;
    EXPECT_GE(line.ms, 400);
    EXPECT_LT(line.ms, 3000);
  }
}

TEST(HcclJoin, WaitsForALateRank) {
  WorkerPlan plan = Plan("join", 2, "10000");
  plan.left_out = {1};
  Workers workers(plan);
  SleepMs(700);
  workers.StartLate(1);
  for (const std::uint32_t rank : {0u, 1u}) EXPECT_EQ(LineOf(workers.Wait(rank).text, "joined").code, TENON_OK);
}

TEST(HcclJoin, RefusesAnotherNumberOfRanks) {
  Workers workers(Plan("join", 2, "5000 3"));
  const Line line = LineOf(workers.Wait(1).text, "joined");
  EXPECT_EQ(line.code, TENON_ABI_MISMATCH);
  EXPECT_NE(line.text.find("of 3 ranks"), std::string::npos) << line.text;
  EXPECT_NE(line.text.find("of 2 ranks"), std::string::npos) << line.text;
  EXPECT_LT(line.ms, 2000);
}

TEST(HcclJoin, DescribesItself) {
  Workers one(Plan("join", 2, "5000"));
  EXPECT_NE(one.Wait(0).text.find("describe 2 ranks of one node through shared memory"), std::string::npos);
  Workers two(Plan("join", 3, "5000", {0, 0, 1}));
  const std::string text = two.Wait(2).text;
  EXPECT_NE(text.find("3 ranks on 2 nodes (2 + 1)"), std::string::npos) << text;
  EXPECT_NE(text.find("is reached by other nodes at 127.0.0.1"), std::string::npos) << text;
}

}  // namespace
}  // namespace tenon::testing_support
