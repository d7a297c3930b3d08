#include "core/launch/guard.h"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "core/platform/process.h"
#include "core/platform/spawn.h"

namespace tenon {
namespace {

constexpr int kPassedOn[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
constexpr std::int64_t kMarginNs = 3'000'000'000;  // for the child to say how the workers ended

int RunWork(const std::function<Result<int>()>& work) {
  AdoptOrphans();
  const Result<int> code = work();
  int exit_code = code.ok() ? *code : 1;
  if (!code.ok()) {
    std::fprintf(stderr, "%s\n", code.status().ToString().c_str());
    if (code.status().code() == Code::kNotFound || code.status().code() == Code::kInvalidArgument) exit_code = 2;
    // A scheduler that was not reached in time, or a port that is taken.
    if (code.status().code() == Code::kUnavailable || code.status().code() == Code::kDeadlineExceeded) exit_code = 3;
  }
  std::fflush(nullptr);
  KillDescendants();
  return exit_code;
}

// Waits for a signal of `set`, at most until `deadline` (0: for ever). 0 when none came.
int WaitForSignal(const sigset_t& set, std::int64_t deadline, siginfo_t* info) {
  for (;;) {
    if (deadline == 0) {
      const int number = sigwaitinfo(&set, info);
      if (number > 0) return number;
      continue;
    }
    const std::int64_t left = std::max<std::int64_t>(deadline - MonotonicNs(), 0);
    const timespec limit{left / 1'000'000'000, left % 1'000'000'000};
    const int number = sigtimedwait(&set, info, &limit);
    if (number > 0) return number;
    if (errno == EAGAIN) return 0;
  }
}

// True when a line can be written at once.
bool CanTell(int descriptor) {
  pollfd watched{descriptor, POLLOUT, 0};
  return poll(&watched, 1, 0) == 1 && (watched.revents & POLLOUT) != 0;
}

// A child that writes to a screen which nobody reads, or a full pipe, hears no signal.
void SayDeaf(int number) {
  if (!CanTell(STDERR_FILENO)) return;
  std::fprintf(stderr,
               "error: %s came, and the launcher did not end in time: is nobody reading its output? All workers are "
               "ended.\n",
               SignalName(number).c_str());
}

}  // namespace

Result<int> RunGuarded(const std::function<Result<int>()>& work, double grace_seconds) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGCHLD);
  for (const int number : kPassedOn) sigaddset(&set, number);
  sigprocmask(SIG_BLOCK, &set, nullptr);
  AdoptOrphans();
  std::fflush(nullptr);
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0) return Error(Code::kResourceExhausted, "A process cannot be started: {}.", std::strerror(errno));
  if (child == 0) {
    BecomeChild(SIGUSR1, parent);
    _exit(RunWork(work));
  }
  int ended_by = 0;           // the first signal that was passed on
  std::int64_t deadline = 0;  // for the child to end after it
  for (;;) {
    siginfo_t info{};
    const int number = WaitForSignal(set, deadline, &info);
    int status = 0;
    if (number == 0) {
      kill(child, SIGKILL);
      waitpid(child, nullptr, 0);
      KillDescendants();
      SayDeaf(ended_by);
      return 128 + ended_by;
    }
    if (number == SIGCHLD) {
      pid_t ended = 0;
      bool done = false;
      while ((ended = waitpid(-1, &status, WNOHANG)) > 0) {
        if (ended == child) done = true;
        if (done) break;
      }
      if (!done) continue;
      KillDescendants();
      if (WIFEXITED(status)) return WEXITSTATUS(status);
      std::fprintf(stderr, "error: The launcher's own process was ended by %s; its workers are ended too.\n",
                   SignalName(WTERMSIG(status)).c_str());
      return 128 + WTERMSIG(status);
    }
    // One that a terminal sends goes to the whole group, the child included.
    if (info.si_code != SI_KERNEL) kill(child, number);
    const std::int64_t margin = MonotonicNs() + kMarginNs;
    deadline = ended_by != 0 ? std::min(deadline, margin) : margin + static_cast<std::int64_t>(grace_seconds * 1e9);
    if (ended_by == 0) ended_by = number;
  }
}

}  // namespace tenon
