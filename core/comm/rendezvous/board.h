#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "core/base/log.h"
#include "core/base/status.h"
#include "core/comm/rank.h"

namespace tenon::rendezvous {

// What a call is told; `value` belongs to OK only.
struct Reply {
  Status status;
  std::string value;
  bool retry = false;
  std::uint64_t token = 0;
  Neighbours neighbours;  // after Register
  bool more = false;      // another reply to the same call follows
};
using Done = std::function<void(Reply)>;

// A rank that wants to take part.
struct Candidate {
  std::uint32_t rank = 0, size = 0, local_rank = 0, node = 0;
  std::string host, address;
  std::uint64_t process = 0;
  std::string job;
  std::uint32_t generation = 0;
  std::string version, config, plugins;
};

struct BoardOptions {
  std::uint32_t size = 1;
  std::string job;
  std::uint32_t generation = 0;
  std::string version;
  std::uint64_t topology_timeout_ns = 0;           // for all ranks to come; 0: no limit
  std::uint64_t node_timeout_ns = 30'000'000'000;  // of silence until a rank is lost
  std::uint64_t broken_timeout_ns = 300'000'000;   // for a rank whose connection broke to connect again
  std::function<void(LogLevel, const std::string&)> log;
  std::uint64_t progress_ns = 10'000'000'000;       // between two words about who has not come
  std::function<void(const std::string&)> waiting;  // those words; empty: the log is told
};

// The state of one generation of a run: who is there, what was put, who waits for what, and the first failure. It knows
// nothing of the network. Calls that wait are answered through their Done, on any thread and outside all locks. Any thread
// may call everything.
class Board {
 public:
  explicit Board(BoardOptions options);
  ~Board();
  // Answers all that still wait; calls that come later are refused.
  void Close();

  // Answered when all ranks are there, with `more`, and again when the rank's first watch is in flight or the run has
  // failed; the failure may overtake the first answer. Returns a number for LostCall.
  std::uint64_t Register(const Candidate& candidate, Done done);
  // Deals ranks out to nodes in the order of their asking; the first one is the value of the reply.
  Reply Allot(const Candidate& node, std::uint32_t workers);
  Reply Put(std::uint64_t token, const std::string& key, const std::string& value);
  Reply Delete(std::uint64_t token, const std::string& key);
  void Get(std::uint64_t token, const std::string& key, std::uint64_t timeout_ns, Done done);
  void Barrier(std::uint64_t token, const std::string& name, std::uint64_t timeout_ns, Done done);
  // Answered with OK after timeout_ns, or with the first failure. Returns a number for LostCall.
  std::uint64_t Watch(std::uint64_t token, std::uint64_t timeout_ns, Done done);
  Reply Leave(std::uint64_t token);
  Reply Abort(std::uint64_t token, const Status& cause);
  // The same for a rank whose end somebody else has seen.
  void AbortRank(std::uint32_t rank, const std::string& what_happened);
  // The caller of Register or Watch is not connected any more.
  void LostCall(std::uint64_t call);

  Status failure() const;
  // True when all ranks have left; waits for it up to timeout_ns, but not beyond a failure.
  bool WaitAllLeft(std::uint64_t timeout_ns) const;
  bool Complete() const;         // all ranks have come
  bool AnyonePresent() const;    // a rank that has come and not left
  bool AllHeard() const;         // of a failure: every rank has come, before it or since, or its end was seen
  std::string Describe() const;  // for Probe: version, job, ranks that are here

 private:
  struct Member {
    Candidate who;
    std::uint64_t token = 0;
    int calls = 0;                  // in flight, that show it is there
    std::int64_t absent_until = 0;  // without such a call until then: lost
    bool broken = false;            // absent because the connection broke
    bool left = false;
  };
  enum class Wait { kRegister, kFirstWatch, kGet, kBarrier, kWatch };
  struct Waiter {
    Wait kind;
    std::uint32_t rank;
    std::string key;
    std::int64_t deadline;  // 0: none
    std::uint64_t timeout_ns;
    Done done;
  };
  using Waiters = std::map<std::uint64_t, Waiter>;
  // Answers to give once the lock is released.
  using Ready = std::vector<std::pair<Done, Reply>>;

  Status Check(const Candidate& candidate, bool& fatal, bool& retry) const;
  Status CheckJob(const Candidate& candidate, bool& retry) const;
  Status CompareHandshake(const Candidate& candidate) const;
  Status CheckOpen(std::uint64_t token, std::uint32_t* rank) const;
  const Member* Find(std::uint64_t token) const;
  void LetGo(Ready& ready);
  void EndRegistration(std::uint32_t rank, Ready& ready);
  void EndBarrier(const std::string& name, const Status& status, Ready& ready);
  std::uint64_t AddWaiter(Waiter waiter);
  Waiters::iterator Answer(Waiters::iterator waiter, Reply reply, Ready& ready);
  void Fail(Status cause, Ready& ready);
  Status TimeoutOf(const Waiter& waiter) const;
  std::vector<std::uint32_t> Missing() const;
  std::int64_t Expire(std::int64_t now, Ready& ready);
  void RunTimer();
  void Log(LogLevel level, const std::string& text) const;
  static void Give(Ready& ready);

  BoardOptions options_;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::map<std::uint32_t, Member> members_;  // by rank
  bool complete_ = false;                    // all were there
  std::size_t left_ = 0;
  std::uint32_t allotted_ = 0;  // ranks that Allot gave away
  Status failure_;
  std::set<std::uint32_t> refused_;  // ranks that came after the failure, or whose end was it
  std::map<std::string, std::string> values_;
  Waiters waiters_;
  std::map<std::string, std::set<std::uint32_t>> barriers_;  // who has come
  std::uint64_t next_ = 1;                                   // numbers of calls and tokens
  std::int64_t topology_deadline_ = 0;
  std::int64_t next_progress_ = 0;
  bool closing_ = false;
  std::thread timer_;
};

// "rank 2", "ranks 1, 2 and 5", long lists shortened.
std::string RankList(const std::vector<std::uint32_t>& ranks);

}  // namespace tenon::rendezvous
