#include "core/comm/rendezvous/board.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <thread>

namespace tenon::rendezvous {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000, kMs = 1'000'000;

BoardOptions Options(std::uint32_t size) {
  BoardOptions options;
  options.size = size;
  options.job = "job-a";
  options.version = "1.0";
  options.topology_timeout_ns = 5 * kSecond;
  options.node_timeout_ns = 200 * kMs;
  options.broken_timeout_ns = 20 * kMs;
  return options;
}

Candidate Rank(std::uint32_t rank, std::uint32_t size) {
  Candidate candidate;
  candidate.rank = rank;
  candidate.size = size;
  candidate.host = "host" + std::to_string(rank);
  candidate.process = 100 + rank;
  candidate.version = "1.0";
  candidate.config = "train.epochs: 4\noptimizer.lr: 0.1\n";
  return candidate;
}

// A call that may wait, and its answer.
struct Pending {
  std::shared_ptr<std::promise<Reply>> promise = std::make_shared<std::promise<Reply>>();
  std::future<Reply> future = promise->get_future();
  Done done() {
    // Of a registration the first answer.
    return [promise = promise, given = std::make_shared<std::atomic<bool>>(false)](Reply reply) {
      if (!given->exchange(true)) promise->set_value(std::move(reply));
    };
  }
  bool Waits() const { return future.wait_for(std::chrono::milliseconds(30)) == std::future_status::timeout; }
  Reply Get() { return future.get(); }
};

std::vector<std::uint64_t> Fill(Board& board, std::uint32_t size) {
  std::vector<Pending> pending(size);
  std::vector<std::uint64_t> tokens;
  for (std::uint32_t rank = 0; rank < size; ++rank) board.Register(Rank(rank, size), pending[rank].done());
  for (Pending& one : pending) {
    const Reply reply = one.Get();
    EXPECT_TRUE(reply.status.ok()) << reply.status.ToString();
    EXPECT_EQ(reply.value, "job-a");
    tokens.push_back(reply.token);
  }
  return tokens;
}

bool Holds(const Status& status, const std::string& part) { return status.message().find(part) != std::string::npos; }

TEST(Board, LetsRanksGoWhenAllAreThere) {
  Board board(Options(2));
  Pending first, second;
  board.Register(Rank(1, 2), first.done());
  EXPECT_TRUE(first.Waits());
  board.Register(Rank(0, 2), second.done());
  EXPECT_TRUE(first.Get().status.ok());
  EXPECT_TRUE(second.Get().status.ok());
}

// A registration and its two answers.
struct Registering {
  Pending there, watched;
  Done done() {
    return [there = there.done(), watched = watched.done()](Reply reply) {
      const bool more = reply.more;
      if (more || !reply.status.ok()) there(reply);
      if (!more) watched(std::move(reply));
    };
  }
};

TEST(Board, NumbersTheRanksOfEachHost) {
  Board board(Options(4));
  std::vector<Pending> pending(4);
  const char* const hosts[] = {"a", "b", "a", "a"};
  for (const std::uint32_t rank : {2U, 0U, 3U, 1U}) {
    Candidate candidate = Rank(rank, 4);
    candidate.host = hosts[rank];
    board.Register(candidate, pending[rank].done());
  }
  const Neighbours want[] = {{0, 3}, {0, 1}, {1, 3}, {2, 3}};
  for (std::size_t rank = 0; rank < 4; ++rank) {
    const Reply reply = pending[rank].Get();
    EXPECT_EQ(reply.neighbours.index, want[rank].index) << rank;
    EXPECT_EQ(reply.neighbours.count, want[rank].count) << rank;
  }
}

TEST(Board, EndsARegistrationWithTheFirstWatch) {
  Board board(Options(2));
  Registering first, second;
  board.Register(Rank(0, 2), first.done());
  board.Register(Rank(1, 2), second.done());
  const std::uint64_t token = first.there.Get().token;
  second.there.Get();
  Pending watch;
  board.Watch(token, 10 * kSecond, watch.done());
  EXPECT_TRUE(first.watched.Get().status.ok());
  EXPECT_TRUE(second.watched.Waits());
}

TEST(Board, MissesARankThatIsLostBeforeItsFirstWatch) {
  BoardOptions options = Options(2);
  options.node_timeout_ns = 10 * kSecond;
  Board board(options);
  Registering first, second;
  board.Register(Rank(0, 2), first.done());
  const std::uint64_t call = board.Register(Rank(1, 2), second.done());
  Pending watch;
  board.Watch(first.there.Get().token, 10 * kSecond, watch.done());
  board.LostCall(call);
  EXPECT_TRUE(Holds(watch.Get().status, "rank 1 on 'host1' (process 101) ended without leaving the run"));
}

TEST(Board, NamesRanksThatDidNotCome) {
  BoardOptions options = Options(4);
  options.topology_timeout_ns = 50 * kMs;
  Board board(options);
  Pending pending;
  board.Register(Rank(2, 4), pending.done());
  const Status status = pending.Get().status;
  EXPECT_EQ(status.code(), Code::kDeadlineExceeded);
  EXPECT_EQ(status.message(),
            "The run was not complete within 0.05 s: ranks 0, 1 and 3 did not come (1 of 4 are here).");
  Pending late;
  board.Register(Rank(0, 4), late.done());
  EXPECT_TRUE(Holds(late.Get().status, "did not come")) << "one that comes too late learns why nobody waits";
}

TEST(Board, SaysWhoHasNotComeWhileItWaits) {
  BoardOptions options = Options(3);
  options.progress_ns = 20 * kMs;
  std::promise<std::string> said;
  options.waiting = [&said, first = true](const std::string& text) mutable {
    if (std::exchange(first, false)) said.set_value(text);
  };
  Board board(options);
  Pending pending;
  board.Register(Rank(1, 3), pending.done());
  EXPECT_NE(said.get_future().get().find("(1/3). Waiting for workers: ranks 0 and 2 did not come yet."),
            std::string::npos);
}

TEST(Board, KnowsWhetherAllHaveHeardOfAFailure) {
  Board board(Options(3));
  Pending first, second, third;
  board.Register(Rank(0, 3), first.done());
  EXPECT_FALSE(board.AllHeard());
  Candidate other = Rank(1, 3);
  other.config = "optimizer.lr: 7\n";
  board.Register(other, second.done());
  EXPECT_FALSE(first.Get().status.ok());
  EXPECT_FALSE(board.AllHeard()) << "rank 2 has not come";
  board.Register(Rank(2, 3), third.done());
  EXPECT_TRUE(Holds(third.Get().status, "optimizer.lr"));
  EXPECT_TRUE(board.AllHeard());
}

TEST(Board, RefusesWhatDoesNotFit) {
  struct Case {
    const char* what;
    Candidate second;
    const char* expected;
    bool ends_run;
  };
  std::vector<Case> cases;
  Candidate other = Rank(1, 3);
  cases.push_back(
      {"world size", other, "says that the run has 3 ranks, and the rendezvous of this run waits for 2", true});
  other = Rank(1, 2);
  other.config = "optimizer.lr: 0.1\ntrain.epochs: 5\ntrain.steps: 9\n";
  cases.push_back(
      {"config", other,
       "the configurations of rank 0 on 'host0' (process 100) and rank 1 on 'host1' (process 101) differ: "
       "'train.epochs' is 4 on rank 0 and 5 on rank 1; 'train.steps' is not there on rank 0 and 9 on rank 1.",
       true});
  other = Rank(1, 2);
  other.version = "0.9";
  cases.push_back({"version", other, "runs Tenon 0.9, and the rendezvous runs 1.0", true});
  other = Rank(0, 2);
  other.process = 555;
  cases.push_back({"duplicate", other,
                   "Repeated registration node: rank 0 on 'host0' (process 555) came, and rank 0 on 'host0' "
                   "(process 100) is here",
                   false});
  cases.push_back({"extra", Rank(2, 2), "This node is extra or rank id exceeds: rank 2 on 'host2'", false});
  other = Rank(1, 2);
  other.job = "job-b";
  cases.push_back({"job", other, "belongs to job 'job-b', and job 'job-a' is served here", false});
  for (Case& one : cases) {
    Board board(Options(2));
    Pending first, second;
    board.Register(Rank(0, 2), first.done());
    board.Register(one.second, second.done());
    const Reply refused = second.Get();
    EXPECT_TRUE(Holds(refused.status, one.expected)) << one.what << ": " << refused.status.ToString();
    EXPECT_FALSE(refused.retry) << one.what;
    if (one.ends_run) {
      EXPECT_TRUE(Holds(first.Get().status, one.expected)) << one.what;
      continue;
    }
    EXPECT_TRUE(first.Waits()) << one.what << " harms nobody else";
    Pending right;
    board.Register(Rank(1, 2), right.done());
    EXPECT_TRUE(first.Get().status.ok()) << one.what;
    EXPECT_TRUE(right.Get().status.ok()) << one.what;
  }
}

TEST(Board, TellsGenerationsApart) {
  BoardOptions options = Options(2);
  options.generation = 1;
  Board board(options);
  Pending old, early;
  Candidate candidate = Rank(0, 2);
  board.Register(candidate, old.done());
  const Reply stale = old.Get();
  EXPECT_TRUE(Holds(stale.status, "start 0 of the job, and start 1 is served here: it is a leftover"))
      << stale.status.ToString();
  EXPECT_FALSE(stale.retry);
  candidate.generation = 2;
  board.Register(candidate, early.done());
  EXPECT_TRUE(early.Get().retry) << "the next start's server may only be on its way";
}

TEST(Board, KeepsValues) {
  Board board(Options(2));
  const auto tokens = Fill(board, 2);
  Pending now, later, never;
  board.Get(tokens[0], "a", 0, now.done());
  EXPECT_EQ(now.Get().status.code(), Code::kNotFound);
  board.Get(tokens[0], "a", kSecond, later.done());
  EXPECT_TRUE(board.Put(tokens[1], "a", std::string("x\0y", 3)).status.ok());
  EXPECT_EQ(later.Get().value, std::string("x\0y", 3));
  board.Get(tokens[0], "b", 20 * kMs, never.done());
  const Status status = never.Get().status;
  EXPECT_EQ(status.code(), Code::kDeadlineExceeded);
  EXPECT_EQ(status.message(), "No rank put anything under 'b' within 0.02 s.");
  EXPECT_TRUE(board.Delete(tokens[0], "a").status.ok());
  EXPECT_EQ(board.Delete(tokens[0], "a").status.code(), Code::kNotFound);
  EXPECT_EQ(board.Put(tokens[0] + 1000, "a", "").status.code(), Code::kFailedPrecondition);
}

TEST(Board, NamesWhoDidNotReachABarrier) {
  Board board(Options(3));
  const auto tokens = Fill(board, 3);
  Pending a, b;
  board.Barrier(tokens[0], "save", 40 * kMs, a.done());
  board.Barrier(tokens[2], "save", 40 * kMs, b.done());
  const Status status = a.Get().status;
  EXPECT_TRUE(Holds(status, "The barrier 'save' was not reached by rank 1 within 0.04 s. Usually a rank is slow"))
      << status.ToString();
  EXPECT_EQ(b.Get().status.message(), status.message());
  // It can be used again.
  std::vector<Pending> all(3);
  for (std::size_t rank = 0; rank < 3; ++rank) board.Barrier(tokens[rank], "save", kSecond, all[rank].done());
  for (Pending& one : all) EXPECT_TRUE(one.Get().status.ok());
}

TEST(Board, TellsWaitersAtABarrierThatARankHasLeft) {
  Board board(Options(2));
  const auto tokens = Fill(board, 2);
  Pending waiting;
  board.Barrier(tokens[0], "epoch", 10 * kSecond, waiting.done());
  EXPECT_TRUE(board.Leave(tokens[1]).status.ok());
  EXPECT_TRUE(Holds(waiting.Get().status, "rank 1 left the run before it"));
  EXPECT_FALSE(board.WaitAllLeft(0));
  EXPECT_TRUE(board.Leave(tokens[0]).status.ok());
  EXPECT_TRUE(board.WaitAllLeft(0));
  EXPECT_TRUE(board.failure().ok());
}

TEST(Board, TellsAllRanksTheFirstCause) {
  Board board(Options(3));
  const auto tokens = Fill(board, 3);
  Pending watch, get;
  board.Watch(tokens[0], 10 * kSecond, watch.done());
  board.Get(tokens[2], "never", 10 * kSecond, get.done());
  board.Abort(tokens[1], Error(Code::kResourceExhausted, "The disk is full."));
  board.Abort(tokens[2], Error(Code::kAborted, "A later one."));
  const Status cause = watch.Get().status;
  EXPECT_EQ(cause.code(), Code::kResourceExhausted);
  EXPECT_EQ(cause.message(), "rank 1 on 'host1' (process 101) failed first: The disk is full.");
  EXPECT_EQ(get.Get().status.message(), cause.message());
  EXPECT_EQ(board.failure().message(), cause.message());
}

TEST(Board, MissesARankThatIsSilent) {
  Board board(Options(2));
  const auto tokens = Fill(board, 2);
  Pending watch;
  board.Watch(tokens[0], 10 * kSecond, watch.done());  // rank 1 gives no sign of life
  EXPECT_TRUE(Holds(watch.Get().status, "rank 1 on 'host1' (process 101) has been silent for 0.2 s"));
}

TEST(Board, MissesARankWhoseConnectionBreaks) {
  BoardOptions options = Options(2);
  options.node_timeout_ns = 10 * kSecond;
  Board board(options);
  const auto tokens = Fill(board, 2);
  Pending watch, lost, again, lost_again;
  board.Watch(tokens[0], 10 * kSecond, watch.done());
  std::uint64_t call = board.Watch(tokens[1], 10 * kSecond, lost.done());
  board.LostCall(call);
  call = board.Watch(tokens[1], 10 * kSecond, again.done());  // connected again in time
  EXPECT_TRUE(watch.Waits());
  board.LostCall(call);
  EXPECT_TRUE(Holds(watch.Get().status, "rank 1 on 'host1' (process 101) ended without leaving the run"));
}

TEST(Board, AnswersEverybodyWhenItCloses) {
  Pending get, registering;
  {
    Board board(Options(2));
    const auto tokens = Fill(board, 2);
    board.Get(tokens[0], "never", 10 * kSecond, get.done());
    board.Close();
    board.Register(Rank(0, 2), registering.done());
  }
  EXPECT_EQ(get.Get().status.code(), Code::kUnavailable);
  EXPECT_EQ(registering.Get().status.code(), Code::kUnavailable);
}

TEST(Board, DealsRanksOut) {
  Board board(Options(6));
  Candidate node;
  node.host = "host0";
  EXPECT_EQ(board.Allot(node, 4).value, "0");
  const Reply refused = board.Allot(node, 3);
  EXPECT_TRUE(
      Holds(refused.status, "This node is extra or rank id exceeds: 'host0' has 3 workers, and 2 of the 6 ranks"))
      << refused.status.ToString();
  EXPECT_EQ(board.Allot(node, 2).value, "4");
  node.generation = 1;
  EXPECT_TRUE(board.Allot(node, 1).retry);
  node.job = "job-b";
  EXPECT_FALSE(board.Allot(node, 1).retry);
}

TEST(Board, ShortensLongLists) {
  std::vector<std::uint32_t> many;
  for (std::uint32_t i = 0; i < 20; ++i) many.push_back(i);
  EXPECT_EQ(RankList({7}), "rank 7");
  EXPECT_EQ(RankList(many), "ranks 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 and 4 more");
}

}  // namespace
}  // namespace tenon::rendezvous
