#include "core/launch/guard.h"

#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "core/platform/process.h"
#include "core/platform/spawn.h"

namespace tenon {
namespace {

constexpr int kPassedOn[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

int RunWork(const std::function<Result<int>()>& work) {
  AdoptOrphans();
  const Result<int> code = work();
  int exit_code = code.ok() ? *code : 1;
  if (!code.ok()) {
    std::fprintf(stderr, "%s\n", code.status().ToString().c_str());
    if (code.status().code() == Code::kNotFound || code.status().code() == Code::kInvalidArgument) exit_code = 2;
    if (code.status().code() == Code::kUnavailable) exit_code = 3;
  }
  std::fflush(nullptr);
  KillDescendants();
  return exit_code;
}

}  // namespace

Result<int> RunGuarded(const std::function<Result<int>()>& work, double) {
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
  for (;;) {
    siginfo_t info{};
    const int number = sigwaitinfo(&set, &info);
    int status = 0;
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
    if (number > 0 && info.si_code != SI_KERNEL) kill(child, number);
  }
}

}  // namespace tenon
