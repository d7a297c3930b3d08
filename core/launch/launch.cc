#include "core/launch/launch.h"

#include <sys/signalfd.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <ctime>
#include <random>

#include "core/base/env.h"
#include "core/launch/attempt.h"
#include "core/launch/final_report.h"
#include "core/launch/guard.h"
#include "core/launch/held_port.h"
#include "core/platform/process.h"

namespace tenon {
namespace {

std::string RandomJob() {
  std::random_device device;
  return fmt::format("{:08x}{:08x}", device(), device());
}

// Signals that the launcher waits for instead of being ended by them.
int OpenSignals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : {SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1}) sigaddset(&set, number);
  sigprocmask(SIG_BLOCK, &set, nullptr);
  return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

// Of several calls on one machine that do not say which node they are, each would serve.
Result<HeldPort> TakePort(const LaunchPlan& plan, std::uint16_t port) {
  Result<HeldPort> held = HeldPort::Take(port);
  if (held.ok() || !plan.asks_for_ranks) return held;
  return Error(held.status().code(), "{} If the scheduler of this job has it, give each call its --node_rank.",
               held.status().message());
}

// Starts the job as often as it takes, at most 1 + max_restarts times.
Result<int> Supervise(const LaunchPlan& plan, JobFacts facts) {
  const int signals = OpenSignals();
  LogFollower follower;
  for (;; ++facts.generation) {
    Attempt attempt(plan, facts, signals, follower);
    TENON_ASSIGN(const AttemptResult result, attempt.Run());
    if (result.good) return 0;
    PrintFinalReport(plan, result);
    if (result.interrupted || facts.generation >= plan.options.max_restarts) return FinalExitCode(result);
    std::printf("msrun: the job is started again (%u of %lld restarts).\n", facts.generation + 1,
                static_cast<long long>(plan.options.max_restarts));
    std::fflush(stdout);
  }
}

}  // namespace

Result<int> Launch(const LaunchOptions& options) {
  TENON_ASSIGN(LaunchPlan plan, MakeLaunchPlan(options, GetEnv));
  const Status made = MakeFolders(plan.log_folder);
  TENON_INVALID_IF(!made.ok(), "--log_dir: {}", made.message());
  JobFacts facts;
  facts.port = static_cast<std::uint16_t>(options.master_port);
  facts.started = std::time(nullptr);
  HeldPort held;
  if (plan.serves) {
    TENON_ASSIGN(held, TakePort(plan, facts.port));
    facts.port = held.port();
    facts.job = GetEnv("TENON_JOB_ID").value_or(RandomJob());
  } else {
    facts.job = GetEnv("TENON_JOB_ID").value_or("");
  }
  if (!plan.node_from.empty() && plan.node_from != "--node_rank") {
    std::printf("msrun: this is node %u, as %s says.\n", plan.node, plan.node_from.c_str());
  }
  if (plan.serves && options.master_port == 0) std::printf("msrun: the scheduler's port is %u.\n", facts.port);
  if (!options.join) return Supervise(plan, facts);
  return RunGuarded([&] { return Supervise(plan, facts); }, plan.options.grace_time);
}

}  // namespace tenon
