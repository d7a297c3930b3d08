// Ranks as processes that meet over gRPC. The parent never opens the library: it forks.
#include "core/comm/rendezvous.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>

#include "core/platform/process.h"
#include "tests/support/rank_processes.h"

namespace tenon {
namespace {

using testing_support::FreePort;
using testing_support::RankOfTest;
using testing_support::RankProcesses;

constexpr std::uint64_t kSecond = 1'000'000'000;

// Limits that suit a test. Read by JoinRun.
void SetLimits(const char* topology, const char* node, const char* retry) {
  setenv("MS_TOPO_TIMEOUT", topology, 1);
  setenv("MS_NODE_TIMEOUT", node, 1);
  setenv("MS_HEARTBEAT_RETRY_TIMEOUT", retry, 1);
}

struct ShortLimits : testing::Environment {
  void SetUp() override { SetLimits("20", "5", "2"); }
};
const testing::Environment* const kShortLimits = testing::AddGlobalTestEnvironment(new ShortLimits);

std::string Text(const Status& status) { return status.ToString(); }

void SleepMs(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

// Waits for the first failure of the run, up to `seconds`.
Status AwaitFailure(Rendezvous& run, double seconds) {
  const std::int64_t end = MonotonicNs() + static_cast<std::int64_t>(seconds * 1e9);
  while (run.failure().ok() && MonotonicNs() < end) SleepMs(2);
  return run.failure();
}

// Within which the others know of a failure. A sanitizer makes everything slower.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::int64_t kBoundNs = 5'000'000'000;
#else
constexpr std::int64_t kBoundNs = 1'000'000'000;
#endif

TEST(Rendezvous, ExchangesValuesAndPassesBarriers) {
  const std::uint16_t port = FreePort();
  RankProcesses ranks(4, [port](std::uint32_t rank) -> std::string {
    Result<std::unique_ptr<Rendezvous>> run = JoinRun(RankOfTest(rank, 4, port), {"hash", "plugins"});
    if (!run.ok()) return Text(run.status());
    KeyValueStore& store = (*run)->store();
    if (Status put = store.Put("from/" + std::to_string(rank), std::to_string(rank * 10)); !put.ok()) return Text(put);
    std::string seen;
    for (int other = 0; other < 4; ++other) {
      const Result<std::string> value = store.Get("from/" + std::to_string(other), 10 * kSecond);
      if (!value.ok()) return Text(value.status());
      seen += *value + " ";
    }
    for (int i = 0; i < 3; ++i) {
      if (Status passed = (*run)->Barrier("b", 10 * kSecond); !passed.ok()) return Text(passed);
    }
    return seen + Text((*run)->Leave());
  });
  for (std::uint32_t rank = 0; rank < 4; ++rank) EXPECT_EQ(ranks.TextOf(rank), "0 10 20 30 OK") << rank;
}

TEST(Rendezvous, NamesMissingRanksAtTheTimeLimit) {
  const std::uint16_t port = FreePort();
  SetLimits("1", "5", "2");
  RankProcesses ranks(2, [port](std::uint32_t rank) { return Text(JoinRun(RankOfTest(rank, 4, port), {}).status()); });
  SetLimits("20", "5", "2");
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    const std::string text = ranks.TextOf(rank);
    EXPECT_NE(text.find("The run was not complete within 1 s: ranks 2 and 3 did not come (2 of 4 are here)."),
              std::string::npos)
        << text;
  }
}

TEST(Rendezvous, ComparesConfigsOverAllRanks) {
  const std::uint16_t port = FreePort();
  RankProcesses ranks(2, [port](std::uint32_t rank) {
    return Text(
        JoinRun(RankOfTest(rank, 2, port), {rank == 0 ? "train.epochs: 4\n" : "train.epochs: 5\n", ""}).status());
  });
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    const std::string text = ranks.TextOf(rank);
    EXPECT_NE(text.find("'train.epochs' is"), std::string::npos) << text;
    EXPECT_NE(text.find("4 on rank 0"), std::string::npos) << text;
    EXPECT_NE(text.find("5 on rank 1"), std::string::npos) << text;
  }
}

TEST(Rendezvous, TellsOthersOfAnAbortAtOnce) {
  const std::uint16_t port = FreePort();
  RankProcesses ranks(3, [port](std::uint32_t rank) -> std::string {
    Result<std::unique_ptr<Rendezvous>> run = JoinRun(RankOfTest(rank, 3, port), {});
    if (!run.ok()) return Text(run.status());
    std::atomic<int> called{0};
    (*run)->OnFailure([&called](const Status&) { ++called; });
    if (Status passed = (*run)->Barrier("start", 10 * kSecond); !passed.ok()) return Text(passed);
    SleepMs(200);  // until all have passed
    const std::int64_t began = MonotonicNs();
    if (rank == 1) (*run)->Abort(Error(Code::kDataLoss, "A batch cannot be read.").At("a.png"));
    const Result<std::string> waits = (*run)->store().Get("never", 10 * kSecond);  // ended by the abort
    const Status failure = AwaitFailure(**run, 5);
    if (MonotonicNs() - began > kBoundNs) return "too late";
    if (waits.ok()) return "a value came out of nothing";
    SleepMs(50);
    return fmt::format("{} called {}", failure.message(), called.load());
  });
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    const std::string text = ranks.TextOf(rank);
    EXPECT_EQ(text.find("rank 1 on 'testhost' (process "), 0U) << text;
    EXPECT_NE(text.find("failed first: a.png: A batch cannot be read. called 1"), std::string::npos) << text;
  }
}

// A rank that ends without a word, by a signal or by itself.
void ExpectLossIsSeen(bool killed) {
  const std::uint16_t port = FreePort();
  RankProcesses ranks(3, [port, killed](std::uint32_t rank) -> std::string {
    Result<std::unique_ptr<Rendezvous>> run = JoinRun(RankOfTest(rank, 3, port), {});
    if (!run.ok()) return Text(run.status());
    if (Status passed = (*run)->Barrier("start", 10 * kSecond); !passed.ok()) return Text(passed);
    if (rank == 2 && killed) kill(getpid(), SIGKILL);
    if (rank == 2) _exit(0);
    const std::int64_t began = MonotonicNs();
    const Status barrier = (*run)->Barrier("never", 10 * kSecond);
    if (MonotonicNs() - began > kBoundNs) return "too late: " + Text(barrier);
    return barrier.message();
  });
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    const std::string text = ranks.TextOf(rank);
    EXPECT_EQ(text.find("rank 2 on 'testhost' (process "), 0U) << text;
    EXPECT_NE(text.find("ended without leaving the run"), std::string::npos) << text;
  }
}
TEST(Rendezvous, SeesAKilledRankWithinASecond) { ExpectLossIsSeen(true); }
TEST(Rendezvous, SeesARankThatExitsEarlyWithinASecond) { ExpectLossIsSeen(false); }

TEST(Rendezvous, LetsARankLeaveBeforeTheOthers) {
  const std::uint16_t port = FreePort();
  RankProcesses ranks(3, [port](std::uint32_t rank) -> std::string {
    Result<std::unique_ptr<Rendezvous>> run = JoinRun(RankOfTest(rank, 3, port), {});
    if (!run.ok()) return Text(run.status());
    SleepMs(rank == 1 ? 700 : 0);
    if (Status failed = (*run)->failure(); !failed.ok()) return Text(failed);
    return Text((*run)->Leave());  // rank 0, which serves, waits for rank 1
  });
  for (std::uint32_t rank = 0; rank < 3; ++rank) EXPECT_EQ(ranks.TextOf(rank), "OK") << rank;
}

TEST(Rendezvous, SeesASilentRank) {
  const std::uint16_t port = FreePort();
  SetLimits("20", "1", "2");
  RankProcesses ranks(2, [port](std::uint32_t rank) -> std::string {
    Result<std::unique_ptr<Rendezvous>> run = JoinRun(RankOfTest(rank, 2, port), {});
    if (!run.ok()) return Text(run.status());
    if (Status passed = (*run)->Barrier("start", 10 * kSecond); !passed.ok()) return Text(passed);
    if (rank == 1) kill(getpid(), SIGSTOP);
    return AwaitFailure(**run, 10).message();
  });
  SetLimits("20", "5", "2");
  const std::string text = ranks.TextOf(0);
  EXPECT_NE(text.find("has been silent for 1 s"), std::string::npos) << text;
  ranks.Signal(1, SIGKILL);
}

TEST(Rendezvous, SaysWhenTheRendezvousIsGone) {
  const std::uint16_t port = FreePort();
  RankProcesses ranks(2, [port](std::uint32_t rank) -> std::string {
    Result<std::unique_ptr<Rendezvous>> run = JoinRun(RankOfTest(rank, 2, port), {});
    if (!run.ok()) return Text(run.status());
    if (Status passed = (*run)->Barrier("start", 10 * kSecond); !passed.ok()) return Text(passed);
    if (rank == 0) {
      SleepMs(200);  // until the other has heard that it passed
      kill(getpid(), SIGKILL);
    }
    return AwaitFailure(**run, 10).message();
  });
  const std::string text = ranks.TextOf(1);
  EXPECT_NE(text.find("The rendezvous at 127.0.0.1:"), std::string::npos) << text;
  EXPECT_NE(text.find("For 2 s nothing was heard of it. Failed to connect to the meta server."), std::string::npos)
      << text;
}

TEST(Rendezvous, RefusesADuplicateAndHarmsNobody) {
  const std::uint16_t port = FreePort();
  RankProcesses ranks(3, [port](std::uint32_t process) -> std::string {
    if (process == 2) SleepMs(300);  // the second rank 1
    Result<std::unique_ptr<Rendezvous>> run = JoinRun(RankOfTest(std::min(process, 1U), 2, port), {});
    if (!run.ok()) return Text(run.status());
    SleepMs(1000);
    return Text((*run)->Leave());
  });
  EXPECT_EQ(ranks.TextOf(0), "OK");
  EXPECT_EQ(ranks.TextOf(1), "OK");
  EXPECT_NE(ranks.TextOf(2).find("Repeated registration node: rank 1"), std::string::npos) << ranks.TextOf(2);
}

TEST(Rendezvous, NamesAPortThatIsTaken) {
  const std::uint16_t port = FreePort();
  const int taken = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(bind(taken, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  ASSERT_EQ(listen(taken, 1), 0);
  RankProcesses ranks(1, [port](std::uint32_t) { return Text(JoinRun(RankOfTest(0, 2, port), {}).status()); });
  const std::string text = ranks.TextOf(0);
  EXPECT_NE(text.find(fmt::format("cannot listen on port {} ", port)), std::string::npos) << text;
  close(taken);
}

TEST(Rendezvous, SaysThatANameIsNotResolved) {
  SetLimits("1", "5", "2");
  RankProcesses ranks(1, [](std::uint32_t) {
    Rank rank = RankOfTest(1, 2, 8118);
    rank.address = "no-such-host.invalid";
    return Text(JoinRun(rank, {}).status());
  });
  SetLimits("20", "5", "2");
  const std::string text = ranks.TextOf(0);
  EXPECT_NE(text.find("The name 'no-such-host.invalid' is not resolved (DNS or hosts file)"), std::string::npos)
      << text;
  EXPECT_NE(text.find("within 1 s"), std::string::npos) << text;
}

TEST(Rendezvous, RefusesLoopbackWithSeveralNodes) {
  RankProcesses ranks(1, [](std::uint32_t) {
    Rank rank = RankOfTest(1, 2, 8118);
    rank.local_size = 1;
    rank.local_rank = 0;
    rank.node = 1;
    return Text(JoinRun(rank, {}).status());
  });
  const std::string text = ranks.TextOf(0);
  EXPECT_NE(text.find("The rendezvous '127.0.0.1' is this machine's own address"), std::string::npos) << text;
}

}  // namespace
}  // namespace tenon
