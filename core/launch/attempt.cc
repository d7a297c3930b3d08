#include "core/launch/attempt.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "configs/compat/launchers.h"
#include "core/base/env.h"
#include "core/base/text.h"
#include "core/comm/rendezvous_limits.h"
#include "core/launch/rank_request.h"
#include "core/platform/process.h"
#include "core/platform/spawn.h"

namespace tenon {
namespace {

constexpr std::int64_t kMs = 1'000'000;
// After a first failure the others end by themselves, and say what they saw, within this time.
constexpr std::int64_t kOwnEndNs = 1'000 * kMs;
constexpr int kNewsMs = 50;
constexpr std::int64_t kFollowNs = 50 * kMs;

void Say(const std::string& line) {
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
}

std::string SpellCommand(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + ShellWord(word);
  return text;
}

// The log of a worker, empty at the first start of the job. While the worker holds it nobody else's worker may write there: a
// launcher that is started by a worker in the same folder would follow its own words for ever.
Result<int> OpenLog(const std::string& path, bool first_start) {
  const int log = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_APPEND, 0644);
  if (log < 0) return Error(Code::kPermissionDenied, "The log '{}' cannot be written: {}.", path, std::strerror(errno));
  if (flock(log, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    close(log);
    return InvalidArgument("The log '{}' is being written by a worker of another job: give each its own --log_dir.",
                           path);
  }
  // What is no file, such as /dev/null, stays as it is.
  if (first_start) (void)!ftruncate(log, 0);
  return log;
}

}  // namespace

std::string WorkerEnd::Describe() const {
  if (WIFSIGNALED(status)) {
    const std::string name = SignalName(WTERMSIG(status));
    return by_us ? fmt::format("stopped by msrun with {}", name) : fmt::format("ended by {}", name);
  }
  return fmt::format("exit code {}", WEXITSTATUS(status));
}

int WorkerEnd::ExitCode() const { return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status); }

Attempt::Attempt(const LaunchPlan& plan, const JobFacts& facts, int signals, LogFollower& follower)
    : plan_(plan), facts_(facts), signals_(signals), follower_(follower) {}

Result<rendezvous::Limits> Attempt::Limits() const {
  TENON_ASSIGN(rendezvous::Limits limits, RendezvousLimits());
  const std::int64_t seconds = plan_.options.cluster_time_out;
  limits.topology_ns = seconds < 0 ? 0 : static_cast<std::uint64_t>(seconds) * 1'000'000'000;
  return limits;
}

Status Attempt::StartScheduler() {
  Scheduler::Options options;
  TENON_ASSIGN(options.serve.limits, Limits());
  options.serve.address = plan_.options.master_addr;
  options.serve.port = facts_.port;
  options.serve.size = static_cast<std::uint32_t>(plan_.options.worker_num);
  options.serve.job = facts_.job;
  options.serve.generation = facts_.generation;
  options.log_file = plan_.log_folder + "/scheduler.log";
  options.attended = plan_.options.join;
  TENON_ASSIGN(scheduler_, Scheduler::Start(options));
  scheduler_lives_ = true;
  return Status();
}

Status Attempt::AskForRanks() {
  RankRequest request;
  request.address = plan_.options.master_addr;
  request.port = facts_.port;
  request.job = facts_.job;
  request.generation = facts_.generation;
  request.workers = static_cast<std::uint32_t>(plan_.workers.size());
  TENON_ASSIGN(request.limits, Limits());
  TENON_ASSIGN(const std::uint32_t first, RequestRanks(request, signals_));
  NumberWorkers(plan_, first);
  return Status();
}

Status Attempt::StartWorkers() {
  for (const WorkerPlan& worker : plan_.workers) {
    WorkerState state;
    state.plan = worker;
    workers_.push_back(std::move(state));
  }
  const std::vector<std::string> inherited = Environment();
  for (WorkerState& worker : workers_) {
    TENON_ASSIGN(const int log, OpenLog(worker.plan.log, facts_.generation == 0));
    SpawnOptions spawn;
    spawn.arguments = plan_.command;
    spawn.environment = WorkerEnvironment(plan_, worker.plan, facts_, inherited);
    spawn.output = log;
    spawn.death_signal = plan_.options.join ? SIGKILL : 0;
    spawn.cores = worker.plan.cores;
    const Result<pid_t> started = Spawn(spawn);
    close(log);
    if (!started.ok()) return started.status();
    worker.process = *started;
    if (worker.plan.tailed) follower_.Follow(worker.plan.log, worker.plan.rank);
    Say(fmt::format(
        "Start worker process with rank id:{}, log file:{}. Environment variable [RANK_ID={}] is exported. Execute "
        "command: {}",
        worker.plan.rank, worker.plan.log, worker.plan.rank, SpellCommand(plan_.command)));
  }
  return Status();
}

Result<AttemptResult> Attempt::Run() {
  if (plan_.serves) TENON_TRY(StartScheduler());
  Status started = plan_.asks_for_ranks ? AskForRanks() : Status();
  if (started.ok()) started = StartWorkers();
  if (!started.ok()) {
    KillDescendants();
    return started;
  }
  if (!plan_.options.join) {
    if (plan_.serves && plan_.one_node()) {
      std::vector<pid_t> processes;
      for (const WorkerState& worker : workers_) processes.push_back(worker.process);
      scheduler_.TellWorkers(processes);
    }
    result_.good = true;
    return std::move(result_);
  }
  Watch();
  follower_.Print(true);
  KillDescendants();
  result_.good = !failed_ && !result_.interrupted;
  result_.workers = std::move(workers_);
  return std::move(result_);
}

bool Attempt::AllEnded() const {
  return std::all_of(workers_.begin(), workers_.end(),
                     [](const WorkerState& worker) { return worker.end.has_value(); });
}

void Attempt::Watch() {
  for (;;) {
    if (AllEnded()) {
      ReadNews();
      // Other nodes may still need the scheduler; it ends when they do not. Once all had met, they hear of a failure at once.
      if (!scheduler_lives_ || plan_.one_node() || (failed_ && complete_) || result_.interrupted) return;
      if (!told_done_) scheduler_.TellDone();
      told_done_ = true;
    }
    const std::int64_t now = MonotonicNs();
    StopAll(now);
    const std::int64_t wait_ns = std::max<std::int64_t>(std::min(NextMoment() - now, kFollowNs), 0);
    pollfd watched[2] = {{signals_, POLLIN, 0}, {scheduler_.descriptor(), POLLIN, 0}};
    timespec limit{wait_ns / 1'000'000'000, wait_ns % 1'000'000'000};
    ppoll(watched, 2, &limit, nullptr);
    // What the ranks say comes before how their processes end: it has the cause.
    ReadNews();
    ReadSignals();
    follower_.Print(false);
  }
}

std::int64_t Attempt::NextMoment() const {
  std::int64_t next = MonotonicNs() + 1'000'000'000;
  if (polite_at_ != 0 && !polite_) next = std::min(next, polite_at_);
  if (hard_at_ != 0 && !hard_) next = std::min(next, hard_at_);
  return next;
}

void Attempt::ReadSignals() {
  signalfd_siginfo info{};
  while (read(signals_, &info, sizeof(info)) == static_cast<ssize_t>(sizeof(info))) {
    const int number = static_cast<int>(info.ssi_signo);
    if (number == SIGCHLD) continue;
    // The launcher's own parent was ended the hard way: nobody is left to be polite for.
    const bool at_once = number == SIGUSR1;
    if (!result_.interrupted) {
      Say(fmt::format("msrun: {} came; all workers are stopped.", SignalName(at_once ? SIGKILL : number)));
      result_.interrupted = true;
      result_.signal = at_once ? SIGKILL : number;
      polite_at_ = MonotonicNs();
    } else {
      hard_at_ = MonotonicNs();
    }
    if (at_once) hard_at_ = MonotonicNs();
  }
  Reap();
}

void Attempt::Reap() {
  int status = 0;
  for (;;) {
    const pid_t process = waitpid(-1, &status, WNOHANG | WUNTRACED | WCONTINUED);
    if (process <= 0) return;
    Notice(process, status);
  }
}

void Attempt::Notice(pid_t process, int status) {
  for (WorkerState& worker : workers_) {
    if (worker.process == process) return NoticeWorker(worker, status);
  }
  if (process == scheduler_.process() && (WIFEXITED(status) || WIFSIGNALED(status))) NoticeScheduler(status);
}

void Attempt::NoticeWorker(WorkerState& worker, int status) {
  const std::uint32_t rank = worker.plan.rank;
  if (WIFSTOPPED(status) || WIFCONTINUED(status)) {
    worker.stopped = WIFSTOPPED(status);
    Say(worker.stopped ? fmt::format("msrun: worker {} (process {}) is stopped by {}; the others wait for it.", rank,
                                     worker.process, SignalName(WSTOPSIG(status)))
                       : fmt::format("msrun: worker {} (process {}) goes on.", rank, worker.process));
    return;
  }
  WorkerEnd end;
  end.status = status;
  end.at_ns = MonotonicNs();
  end.by_us = polite_ || hard_;
  worker.end = end;
  if (end.good()) {
    if (scheduler_lives_ && !complete_) scheduler_.TellAbsent(rank);
    return;
  }
  if (WIFSIGNALED(status)) {
    Say(fmt::format("Worker process {} exit with exception. Error code: {}.", worker.process, -WTERMSIG(status)));
  } else {
    Say(fmt::format("Worker process {} exit with exception. Error code: {}.", worker.process, WEXITSTATUS(status)));
  }
  if (end.by_us) return;
  // What a rank said before it ended is the better cause, and it may still be on its way.
  pollfd news{scheduler_.descriptor(), POLLIN, 0};
  if (!failed_ && scheduler_lives_ && WIFEXITED(status)) poll(&news, 1, kNewsMs);
  ReadNews();
  Fail(fmt::format("rank {} (process {}) failed first: {}", rank, worker.process, end.Describe()), rank);
  if (scheduler_lives_) scheduler_.TellLost(rank, fmt::format("failed first: {}", end.Describe()));
}

void Attempt::NoticeScheduler(int status) {
  scheduler_lives_ = false;
  ReadNews();
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
  const std::string how = WIFSIGNALED(status) ? fmt::format("was ended by {}", SignalName(WTERMSIG(status)))
                                              : fmt::format("ended with code {}", WEXITSTATUS(status));
  failed_ = true;
  if (result_.cause.empty()) result_.cause = fmt::format("the scheduler {}", how);
  if (complete_) {
    // The workers see it for themselves and say what they were doing.
    Say(fmt::format("msrun: the scheduler {}. The workers go on until they need it. See {}/scheduler.log.", how,
                    plan_.log_folder));
  } else if (polite_at_ == 0) {
    Say(fmt::format("msrun: the scheduler {} before all ranks had met. See {}/scheduler.log.", how, plan_.log_folder));
    polite_at_ = MonotonicNs();
  }
}

void Attempt::ReadNews() {
  if (!plan_.serves) return;
  for (const Scheduler::News& news : scheduler_.Read()) {
    switch (news.kind) {
      case Scheduler::News::Kind::kReady:
        break;
      case Scheduler::News::Kind::kWaiting:
        if (!failed_) Say("msrun: " + news.text);
        break;
      case Scheduler::News::Kind::kComplete:
        complete_ = true;
        break;
      case Scheduler::News::Kind::kRefused:
        Fail(news.text, std::nullopt);
        result_.refused = true;
        polite_at_ = MonotonicNs();
        break;
      case Scheduler::News::Kind::kFailed:
        Fail(news.text, news.rank);
        break;
    }
  }
}

void Attempt::Fail(std::string cause, std::optional<std::uint32_t> rank) {
  if (polite_at_ == 0) {
    Say("There's worker exits with exception, kill all other workers.");
    polite_at_ = MonotonicNs() + kOwnEndNs;
  }
  if (failed_ && !result_.cause.empty()) return;
  failed_ = true;
  while (!cause.empty() && cause.back() == '.') cause.pop_back();
  result_.cause = std::move(cause);
  result_.first_rank = rank;
}

void Attempt::SignalWorkers(int number, bool stopped_only) {
  for (const WorkerState& worker : workers_) {
    if (worker.process <= 0 || (stopped_only && !worker.stopped)) continue;
    // The whole group: children that load data are in it. A worker that has ended may have left some.
    kill(-worker.process, number);
  }
}

void Attempt::StopAll(std::int64_t now) {
  if (polite_at_ != 0 && !polite_ && now >= polite_at_) {
    polite_ = true;
    SignalWorkers(SIGTERM, false);
    SignalWorkers(SIGKILL, true);  // one that is stopped hears nothing else
    if (hard_at_ == 0) hard_at_ = now + static_cast<std::int64_t>(plan_.options.grace_time * 1e9);
  }
  if (hard_at_ != 0 && !hard_ && now >= hard_at_) {
    hard_ = true;
    SignalWorkers(SIGKILL, false);
  }
}

}  // namespace tenon
