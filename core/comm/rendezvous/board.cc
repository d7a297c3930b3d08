#include "core/comm/rendezvous/board.h"

#include <algorithm>
#include <chrono>

#include "core/base/text.h"
#include "core/comm/rendezvous/config_difference.h"
#include "core/platform/process.h"

namespace tenon::rendezvous {
namespace {

constexpr std::int64_t kLeastSleepNs = 2'000'000;

std::int64_t DeadlineAfter(std::uint64_t timeout_ns) {
  return MonotonicNs() + static_cast<std::int64_t>(std::min<std::uint64_t>(timeout_ns, std::uint64_t{1} << 61));
}

double Seconds(std::uint64_t ns) { return static_cast<double>(ns) / 1e9; }

Status CannotPass(const std::string& barrier, const std::vector<std::uint32_t>& gone) {
  return Error(Code::kFailedPrecondition, "The barrier '{}' cannot be passed: {} left the run before it.", barrier,
               RankList(gone));
}

std::string NameOf(const Candidate& who) {
  return fmt::format("rank {} on '{}' (process {})", who.rank, who.host, who.process);
}

Status NotRegistered() {
  return Error(Code::kFailedPrecondition, "The caller has not registered in this start of the job.");
}

Status Ended() { return Error(Code::kUnavailable, "The rendezvous has ended."); }

Reply Refusal(Status status, bool retry = false) {
  Reply reply;
  reply.status = std::move(status);
  reply.retry = retry;
  return reply;
}

}  // namespace

std::string RankList(const std::vector<std::uint32_t>& ranks) {
  constexpr std::size_t kMost = 16;
  std::vector<std::string> names;
  for (const std::uint32_t rank : ranks) {
    if (names.size() == kMost) break;
    names.push_back(fmt::format("{}", rank));
  }
  if (ranks.size() > kMost) names.push_back(fmt::format("{} more", ranks.size() - kMost));
  return fmt::format("rank{} {}", ranks.size() == 1 ? "" : "s", JoinAnd(names));
}

Board::Board(BoardOptions options) : options_(std::move(options)) {
  if (options_.topology_timeout_ns > 0) topology_deadline_ = DeadlineAfter(options_.topology_timeout_ns);
  next_progress_ = DeadlineAfter(options_.progress_ns);
  timer_ = std::thread([this] { RunTimer(); });
}

Board::~Board() {
  Close();
  timer_.join();
}

void Board::Close() {
  Ready ready;
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
    for (auto waiter = waiters_.begin(); waiter != waiters_.end();) {
      waiter = Answer(waiter, Refusal(Ended()), ready);
    }
  }
  changed_.notify_all();
  Give(ready);
}

void Board::Log(LogLevel level, const std::string& text) const {
  if (options_.log) options_.log(level, text);
}

void Board::Give(Ready& ready) {
  for (auto& [done, reply] : ready) done(std::move(reply));
  ready.clear();
}

Board::Waiters::iterator Board::Answer(Waiters::iterator waiter, Reply reply, Ready& ready) {
  if (waiter->second.kind == Wait::kWatch || waiter->second.kind == Wait::kFirstWatch) {
    Member& member = members_.at(waiter->second.rank);
    if (--member.calls == 0) member.absent_until = DeadlineAfter(options_.node_timeout_ns);
    member.broken = false;
  }
  ready.emplace_back(std::move(waiter->second.done), std::move(reply));
  return waiters_.erase(waiter);
}

std::uint64_t Board::AddWaiter(Waiter waiter) {
  const std::uint64_t call = next_++;
  waiters_.emplace(call, std::move(waiter));
  changed_.notify_all();
  return call;
}

std::vector<std::uint32_t> Board::Missing() const {
  std::vector<std::uint32_t> missing;
  for (std::uint32_t rank = 0; rank < options_.size; ++rank) {
    if (members_.count(rank) == 0) missing.push_back(rank);
  }
  return missing;
}

Status Board::CompareHandshake(const Candidate& candidate) const {
  if (members_.empty()) return Status();
  const Candidate& first = members_.begin()->second.who;
  const auto differ = [](const std::string& mine, const std::string& theirs) {
    return !mine.empty() && !theirs.empty() && mine != theirs;
  };
  if (differ(candidate.plugins, first.plugins))
    return InvalidArgument("The ranks do not fit together: the set of plugins is '{}' on {} and '{}' on {}.",
                           first.plugins, NameOf(first), candidate.plugins, NameOf(candidate));
  if (!differ(candidate.config, first.config)) return Status();
  const std::string difference = DescribeDifference(first.config, fmt::format("rank {}", first.rank), candidate.config,
                                                    fmt::format("rank {}", candidate.rank));
  if (difference.empty()) return Status();
  return InvalidArgument("The ranks do not fit together: the configurations of {} and {} differ: {}.", NameOf(first),
                         NameOf(candidate), difference);
}

Status Board::CheckJob(const Candidate& candidate, bool& retry) const {
  if (closing_) return Ended();
  if (!candidate.job.empty() && candidate.job != options_.job)
    return InvalidArgument("{} belongs to job '{}', and job '{}' is served here. Choose another port for one of them.",
                           NameOf(candidate), candidate.job, options_.job);
  if (candidate.generation != options_.generation) {
    retry = candidate.generation > options_.generation;
    return Error(Code::kFailedPrecondition, "{} belongs to start {} of the job, and start {} is served here{}.",
                 NameOf(candidate), candidate.generation, options_.generation,
                 retry ? "" : ": it is a leftover of an earlier start");
  }
  return failure_;
}

// `fatal`: no run can come of it, so all ranks are told. `retry`: it may come again.
Status Board::Check(const Candidate& candidate, bool& fatal, bool& retry) const {
  TENON_TRY(CheckJob(candidate, retry));
  if (candidate.rank >= options_.size && candidate.size == options_.size)
    return InvalidArgument("This node is extra or rank id exceeds: {} came to a run of {} ranks.", NameOf(candidate),
                           options_.size);
  const auto present = members_.find(candidate.rank);
  if (present != members_.end() && candidate.size == options_.size)
    return Error(Code::kAlreadyExists,
                 "Repeated registration node: {} came, and {} is here. Look for a leftover process, or start with "
                 "another port.",
                 NameOf(candidate), NameOf(present->second.who));
  fatal = !complete_;
  if (candidate.version != options_.version)
    return InvalidArgument("Versions are mixed: {} runs Tenon {}, and the rendezvous runs {}.", NameOf(candidate),
                           candidate.version, options_.version);
  if (candidate.size != options_.size)
    return InvalidArgument("{} says that the run has {} ranks, and the rendezvous of this run waits for {}.",
                           NameOf(candidate), candidate.size, options_.size);
  return CompareHandshake(candidate);
}

std::uint64_t Board::Register(const Candidate& candidate, Done done) {
  Ready ready;
  std::uint64_t call = 0;
  {
    const std::lock_guard lock(mutex_);
    bool fatal = false, retry = false;
    Status wrong = Check(candidate, fatal, retry);
    if (wrong.ok()) {
      Member member;
      member.who = candidate;
      member.token = (static_cast<std::uint64_t>(candidate.rank + 1) << 32) + next_++;
      members_.emplace(candidate.rank, std::move(member));
      Log(LogLevel::kWarning,
          fmt::format(
              "The new node: {}(role: MS_WORKER), rank id: {}, device id: {}, hostname: {}, ip: {} is registered "
              "successfully. Currently registered node number: {}, expected node number: {}",
              candidate.rank, candidate.rank, candidate.local_rank, candidate.host, candidate.address, members_.size(),
              options_.size));
      call = AddWaiter({Wait::kRegister, candidate.rank, "", 0, 0, std::move(done)});
      LetGo(ready);
    } else {
      if (!retry) Log(LogLevel::kError, wrong.message());
      if (fatal) Fail(wrong, ready);
      if (!failure_.ok() && candidate.rank < options_.size) refused_.insert(candidate.rank);
      ready.emplace_back(std::move(done), Refusal(std::move(wrong), retry));
    }
  }
  Give(ready);
  return call;
}

// Lets all ranks go on once the last one is here.
void Board::LetGo(Ready& ready) {
  if (members_.size() < options_.size) return;
  complete_ = true;
  topology_deadline_ = 0;
  Log(LogLevel::kWarning, "Cluster is successfully initialized.");
  std::map<std::string, std::uint32_t> hosts;  // ranks of each
  std::vector<std::uint32_t> indexes;          // by rank
  for (const auto& [rank, member] : members_) indexes.push_back(hosts[member.who.host]++);
  for (auto& [call, waiter] : waiters_) {
    if (waiter.kind != Wait::kRegister) continue;
    Member& member = members_.at(waiter.rank);
    Reply reply;
    reply.value = options_.job;
    reply.token = member.token;
    reply.neighbours = {indexes[waiter.rank], hosts[member.who.host]};
    reply.more = true;
    ready.emplace_back(waiter.done, std::move(reply));
    waiter.kind = Wait::kFirstWatch;
    waiter.deadline = DeadlineAfter(options_.node_timeout_ns);
    ++member.calls;
  }
}

const Board::Member* Board::Find(std::uint64_t token) const {
  const auto member = members_.find(static_cast<std::uint32_t>((token >> 32) - 1));
  return member != members_.end() && member->second.token == token ? &member->second : nullptr;
}

Status Board::CheckOpen(std::uint64_t token, std::uint32_t* rank) const {
  if (closing_) return Ended();
  const Member* member = Find(token);
  if (member == nullptr) return NotRegistered();
  if (rank != nullptr) *rank = member->who.rank;
  return failure_;
}

Reply Board::Allot(const Candidate& node, std::uint32_t workers) {
  const std::lock_guard lock(mutex_);
  bool retry = false;
  if (Status wrong = CheckJob(node, retry); !wrong.ok()) return Refusal(std::move(wrong), retry);
  if (workers > options_.size - allotted_)
    return Refusal(InvalidArgument(
        "This node is extra or rank id exceeds: '{}' has {} workers, and {} of the {} ranks of the run are left.",
        node.host, workers, options_.size - allotted_, options_.size));
  Reply reply;
  reply.value = std::to_string(allotted_);
  allotted_ += workers;
  return reply;
}

Reply Board::Put(std::uint64_t token, const std::string& key, const std::string& value) {
  Ready ready;
  {
    const std::lock_guard lock(mutex_);
    if (Status wrong = CheckOpen(token, nullptr); !wrong.ok()) return Refusal(std::move(wrong));
    values_[key] = value;
    for (auto waiter = waiters_.begin(); waiter != waiters_.end();) {
      if (waiter->second.kind != Wait::kGet || waiter->second.key != key) {
        ++waiter;
        continue;
      }
      Reply reply;
      reply.value = value;
      waiter = Answer(waiter, std::move(reply), ready);
    }
  }
  Give(ready);
  return Reply();
}

Reply Board::Delete(std::uint64_t token, const std::string& key) {
  const std::lock_guard lock(mutex_);
  if (Status wrong = CheckOpen(token, nullptr); !wrong.ok()) return Refusal(std::move(wrong));
  if (values_.erase(key) == 0) return Refusal(Error(Code::kNotFound, "Nothing was put under '{}'.", key));
  return Reply();
}

void Board::Get(std::uint64_t token, const std::string& key, std::uint64_t timeout_ns, Done done) {
  Reply reply;
  {
    const std::lock_guard lock(mutex_);
    std::uint32_t rank = 0;
    reply.status = CheckOpen(token, &rank);
    const auto found = values_.find(key);
    if (reply.status.ok() && found == values_.end() && timeout_ns > 0) {
      AddWaiter({Wait::kGet, rank, key, DeadlineAfter(timeout_ns), timeout_ns, std::move(done)});
      return;
    }
    if (reply.status.ok() && found == values_.end())
      reply.status = Error(Code::kNotFound, "Nothing was put under '{}'.", key);
    if (reply.status.ok()) reply.value = found->second;
  }
  done(std::move(reply));
}

void Board::Barrier(std::uint64_t token, const std::string& name, std::uint64_t timeout_ns, Done done) {
  Ready ready;
  {
    const std::lock_guard lock(mutex_);
    std::uint32_t rank = 0;
    Status wrong = CheckOpen(token, &rank);
    std::vector<std::uint32_t> gone;
    for (const auto& [other, member] : members_) {
      if (member.left) gone.push_back(other);
    }
    if (wrong.ok() && !gone.empty()) wrong = CannotPass(name, gone);
    if (wrong.ok() && !barriers_[name].insert(rank).second)
      wrong = Error(Code::kFailedPrecondition, "Rank {} waits at the barrier '{}' already.", rank, name);
    if (wrong.ok()) {
      AddWaiter({Wait::kBarrier, rank, name, DeadlineAfter(timeout_ns), timeout_ns, std::move(done)});
      if (barriers_[name].size() == options_.size) EndBarrier(name, Status(), ready);
    } else {
      ready.emplace_back(std::move(done), Refusal(std::move(wrong)));
    }
  }
  Give(ready);
}

// Lets all who wait at a barrier go on, or tells them why it cannot be passed.
void Board::EndBarrier(const std::string& name, const Status& status, Ready& ready) {
  barriers_.erase(name);
  for (auto waiter = waiters_.begin(); waiter != waiters_.end();) {
    const bool here = waiter->second.kind == Wait::kBarrier && waiter->second.key == name;
    waiter = here ? Answer(waiter, Refusal(status), ready) : std::next(waiter);
  }
}

std::uint64_t Board::Watch(std::uint64_t token, std::uint64_t timeout_ns, Done done) {
  Ready ready;
  std::uint64_t call = 0;
  {
    const std::lock_guard lock(mutex_);
    std::uint32_t rank = 0;
    Reply reply;
    reply.status = CheckOpen(token, &rank);
    if (reply.status.ok()) {
      Member& member = members_.at(rank);
      ++member.calls;
      member.broken = false;
      call = AddWaiter({Wait::kWatch, rank, "", DeadlineAfter(timeout_ns), timeout_ns, std::move(done)});
      EndRegistration(rank, ready);
    } else {
      ready.emplace_back(std::move(done), std::move(reply));
    }
  }
  Give(ready);
  return call;
}

void Board::EndRegistration(std::uint32_t rank, Ready& ready) {
  for (auto waiter = waiters_.begin(); waiter != waiters_.end();) {
    const bool here = waiter->second.kind == Wait::kFirstWatch && waiter->second.rank == rank;
    waiter = here ? Answer(waiter, Reply(), ready) : std::next(waiter);
  }
}

void Board::LostCall(std::uint64_t call) {
  Ready ready;
  {
    const std::lock_guard lock(mutex_);
    const auto waiter = waiters_.find(call);
    if (waiter == waiters_.end()) return;
    Member& member = members_.at(waiter->second.rank);
    const bool joining = waiter->second.kind == Wait::kRegister;
    Answer(waiter, Refusal(Error(Code::kCancelled, "The caller is gone.")), ready);
    if (joining) {
      Fail(Error(Code::kAborted, "{} was lost while the run was being built.", NameOf(member.who)), ready);
    } else if (!member.left && member.calls == 0) {
      member.broken = true;
      member.absent_until = DeadlineAfter(options_.broken_timeout_ns);
      changed_.notify_all();
    }
  }
  Give(ready);
}

Reply Board::Leave(std::uint64_t token) {
  Ready ready;
  {
    const std::lock_guard lock(mutex_);
    const Member* found = Find(token);
    if (found == nullptr) return Refusal(NotRegistered());
    Member* member = &members_.at(found->who.rank);
    if (!member->left) ++left_;
    member->left = true;
    while (!barriers_.empty()) {
      const std::string name = barriers_.begin()->first;
      EndBarrier(name, CannotPass(name, {member->who.rank}), ready);
    }
    if (left_ == options_.size)
      Log(LogLevel::kWarning,
          "All ranks have left. This log means the cluster is successfully created. Retry to finalize the node and "
          "exit "
          "cluster...");
  }
  changed_.notify_all();
  Give(ready);
  return Reply();
}

Reply Board::Abort(std::uint64_t token, const Status& cause) {
  Ready ready;
  {
    const std::lock_guard lock(mutex_);
    const Member* member = Find(token);
    if (member == nullptr) return Refusal(NotRegistered());
    Fail(Error(cause.code() == Code::kOk ? Code::kAborted : cause.code(), "{} failed first: {}", NameOf(member->who),
               cause.message()),
         ready);
  }
  Give(ready);
  return Reply();
}

void Board::AbortRank(std::uint32_t rank, const std::string& what_happened) {
  Ready ready;
  {
    const std::lock_guard lock(mutex_);
    const auto member = members_.find(rank);
    const std::string name = member == members_.end() ? fmt::format("rank {}", rank) : NameOf(member->second.who);
    Fail(Error(Code::kAborted, "{} {}.", name, what_happened), ready);
    if (rank < options_.size) refused_.insert(rank);
  }
  Give(ready);
}

void Board::Fail(Status cause, Ready& ready) {
  if (!failure_.ok()) return;
  Log(LogLevel::kError, fmt::format("The run has failed: {}", cause.message()));
  failure_ = cause;
  for (auto waiter = waiters_.begin(); waiter != waiters_.end();) waiter = Answer(waiter, Refusal(failure_), ready);
  changed_.notify_all();
}

Status Board::TimeoutOf(const Waiter& waiter) const {
  const double seconds = Seconds(waiter.timeout_ns);
  if (waiter.kind == Wait::kGet)
    return Error(Code::kDeadlineExceeded, "No rank put anything under '{}' within {:.4g} s.", waiter.key, seconds);
  std::vector<std::uint32_t> missing;
  const auto barrier = barriers_.find(waiter.key);
  for (std::uint32_t rank = 0; rank < options_.size; ++rank) {
    if (barrier == barriers_.end() || barrier->second.count(rank) == 0) missing.push_back(rank);
  }
  return Error(Code::kDeadlineExceeded,
               "The barrier '{}' was not reached by {} within {:.4g} s. Usually a rank is slow or busy with something "
               "else, and the network is not at fault.",
               waiter.key, RankList(missing), seconds);
}

// Answers what has waited long enough and notes who is lost. The next time to look.
std::int64_t Board::Expire(std::int64_t now, Ready& ready) {
  std::int64_t next = now + 1'000'000'000;
  const auto due = [&](std::int64_t deadline) {
    if (deadline == 0) return false;
    if (deadline > now) next = std::min(next, deadline);
    return deadline <= now;
  };
  if (!complete_ && failure_.ok() && due(topology_deadline_)) {
    Fail(
        Error(Code::kDeadlineExceeded, "The run was not complete within {:.4g} s: {} did not come ({} of {} are here).",
              Seconds(options_.topology_timeout_ns), RankList(Missing()), members_.size(), options_.size),
        ready);
  }
  if (!complete_ && failure_.ok() && due(next_progress_)) {
    next_progress_ = DeadlineAfter(options_.progress_ns);
    const std::string text = fmt::format(
        "The cluster topology is in the process of constructing, current alive node num: ({}/{}). Waiting for "
        "workers: {} did not come yet.",
        members_.size(), options_.size, RankList(Missing()));
    options_.waiting ? options_.waiting(text) : Log(LogLevel::kWarning, text);
  }
  for (auto waiter = waiters_.begin(); waiter != waiters_.end();) {
    if (!due(waiter->second.deadline)) {
      ++waiter;
      continue;
    }
    if (waiter->second.kind == Wait::kBarrier) {
      const std::string name = waiter->second.key;
      EndBarrier(name, TimeoutOf(waiter->second), ready);
      waiter = waiters_.begin();
      continue;
    }
    Reply reply;
    if (waiter->second.kind == Wait::kGet) reply.status = TimeoutOf(waiter->second);
    const bool silent = waiter->second.kind == Wait::kFirstWatch;
    Member& member = members_.at(waiter->second.rank);
    waiter = Answer(waiter, std::move(reply), ready);
    if (silent) member.absent_until = now;
  }
  if (!complete_) return next;
  std::vector<std::string> lost;
  bool broken = false;
  const Member* first = nullptr;
  for (const auto& [rank, member] : members_) {
    if (member.left || member.calls > 0 || !due(member.absent_until)) continue;
    lost.push_back(fmt::format("{}", rank));
    if (first == nullptr) broken = member.broken;
    if (first == nullptr) first = &member;
  }
  if (first == nullptr || !failure_.ok()) return next;
  if (broken) {
    Fail(Error(Code::kAborted, "{} ended without leaving the run.", NameOf(first->who)), ready);
    return next;
  }
  Log(LogLevel::kError,
      fmt::format("The node: {} is timed out. It may exit with exception, please check this node's log.",
                  first->who.rank));
  Log(LogLevel::kError,
      fmt::format(
          "The total number of timed out node is {}. Timed out node list is: [{}], worker {} is the first one timed "
          "out, please check its log.",
          lost.size(), Join(lost, ", "), first->who.rank));
  Fail(Error(Code::kAborted, "{} has been silent for {:.4g} s.", NameOf(first->who), Seconds(options_.node_timeout_ns)),
       ready);
  return next;
}

void Board::RunTimer() {
  std::unique_lock lock(mutex_);
  while (!closing_) {
    Ready ready;
    const std::int64_t now = MonotonicNs();
    const std::int64_t next = std::max(Expire(now, ready), now + kLeastSleepNs);
    if (!ready.empty()) {
      lock.unlock();
      Give(ready);
      lock.lock();
      continue;
    }
    changed_.wait_for(lock, std::chrono::nanoseconds(next - now));
  }
}

Status Board::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

bool Board::WaitAllLeft(std::uint64_t timeout_ns) const {
  std::unique_lock lock(mutex_);
  const auto ended = [&] { return left_ == options_.size || !failure_.ok(); };
  return changed_.wait_for(lock, std::chrono::nanoseconds(timeout_ns), ended) && left_ == options_.size;
}

bool Board::Complete() const {
  const std::lock_guard lock(mutex_);
  return complete_;
}

bool Board::AnyonePresent() const {
  const std::lock_guard lock(mutex_);
  return members_.size() > left_;
}

bool Board::AllHeard() const {
  const std::lock_guard lock(mutex_);
  if (failure_.ok()) return false;
  std::set<std::uint32_t> heard = refused_;
  for (const auto& [rank, member] : members_) heard.insert(rank);
  return heard.size() == options_.size;
}

std::string Board::Describe() const {
  const std::lock_guard lock(mutex_);
  return fmt::format("Tenon {}, job '{}', start {}, {} of {} ranks are here", options_.version, options_.job,
                     options_.generation, members_.size(), options_.size);
}

}  // namespace tenon::rendezvous
