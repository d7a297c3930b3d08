// A small program to be started by a launcher: the ranks meet, take steps together and keep a state that depends on all of
// them; rank 0 saves it. Used where a test is about processes and not about training.
//
//   rank_worker [--steps N] [--step-ms MS] [--exec-timeout SECONDS] [--save FILE] [--config LINES] [--slow RANK:MS]
//               [--exit RANK:STEP:CODE] [--quit RANK:STEP] [--sum RANK:OTHER:COUNT] [--deaf] [--child]
//
// --sum adds COUNT floats over the ranks before the first step, and OTHER of them on RANK. // --exit ends a rank with an error that it tells, --quit ends one with code 0 and without a word, --deaf ignores SIGTERM,
// --child starts a process of its own as one that loads data would.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <string>
#include <thread>

#include <unistd.h>

#include "core/comm/communicator.h"
#include "core/comm/rendezvous.h"
#include "core/platform/atomic_file.h"
#include "core/platform/process.h"
#include "core/plugin/plugin_registry.h"

namespace tenon {
namespace {

using Arguments = std::map<std::string, std::string>;

std::uint64_t Number(const Arguments& arguments, const char* name, std::uint64_t fallback) {
  const auto found = arguments.find(name);
  return found == arguments.end() ? fallback : std::strtoull(found->second.c_str(), nullptr, 10);
}

std::string Text(const Arguments& arguments, const char* name) {
  const auto found = arguments.find(name);
  return found == arguments.end() ? "" : found->second;
}

// "RANK:A:B"
struct Event {
  bool set = false;
  unsigned rank = 0, a = 0, b = 0;
  explicit Event(const std::string& text) { set = std::sscanf(text.c_str(), "%u:%u:%u", &rank, &a, &b) >= 2; }
  bool At(std::uint32_t at_rank, std::uint64_t step) const { return set && rank == at_rank && a == step; }
};

void Print(const std::string& line) {
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
}

void SleepMs(std::uint64_t ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

class Worker {
 public:
  Worker(Rank rank, Arguments arguments, std::unique_ptr<Rendezvous> run)
      : rank_(std::move(rank)), arguments_(std::move(arguments)), run_(std::move(run)) {}

  Status Run() {
    TENON_TRY(Load());
    if (const Event sum(Text(arguments_, "--sum")); sum.set) TENON_TRY(Sum(rank_.rank == sum.rank ? sum.a : sum.b));
    const std::uint64_t steps = Number(arguments_, "--steps", 20);
    for (; step_ < steps; ++step_) TENON_TRY(Step());
    Print(fmt::format("final state {:016x}", state_));
    return run_->Leave();
  }
  void Abort(const Status& cause) { run_->Abort(cause); }

 private:
  std::uint64_t TimeoutNs() const { return Number(arguments_, "--exec-timeout", 3) * 1'000'000'000; }

  // Rank 0 says where to go on.
  Status Load() {
    if (rank_.rank == 0) {
      std::ifstream file(Text(arguments_, "--save"));
      std::string text;
      std::getline(file, text);
      if (text.empty()) text = "0 1";
      TENON_TRY(run_->store().Put("start", text));
    }
    TENON_ASSIGN(const std::string text, run_->store().Get("start", TimeoutNs()));
    std::sscanf(text.c_str(), "%lu %lu", &step_, &state_);
    Print(fmt::format("starts at step {}", step_));
    return Status();
  }

  // Over the collective plugin that lies beside this build's programs.
  Status Sum(std::size_t count) {
    PluginRegistry registry(PluginRegistry::Options{});
    TENON_TRY(registry.Load(PluginsConfig{}));
    TENON_ASSIGN(const CollectivePlugin plugin, FindCollective(registry, "auto"));
    CommunicatorOptions options;
    options.rank = rank_;
    options.store = &run_->store();
    options.timeout_ns = TimeoutNs();
    TENON_ASSIGN(const std::unique_ptr<Communicator> world, Communicator::Make(plugin, options));
    std::vector<float> values(count, 1);
    Print("sums");
    return world->AllReduceNow(std::span<float>(values));
  }

  Status Step() {
    const Event slow(Text(arguments_, "--slow")), exit(Text(arguments_, "--exit")), quit(Text(arguments_, "--quit"));
    SleepMs(Number(arguments_, "--step-ms", 20) + (slow.set && slow.rank == rank_.rank ? slow.a : 0));
    if (exit.At(rank_.rank, step_)) return Error(Code::kDataLoss, "The batch of step {} cannot be read.", step_);
    if (quit.At(rank_.rank, step_)) _exit(0);
    const std::string key = fmt::format("value/{}/", step_);
    TENON_TRY(run_->store().Put(key + std::to_string(rank_.rank), std::to_string(step_ * 10 + rank_.rank)));
    TENON_TRY(run_->Barrier("step", TimeoutNs()));
    for (std::uint32_t other = 0; other < rank_.size; ++other) {
      TENON_ASSIGN(const std::string value, run_->store().Get(key + std::to_string(other), TimeoutNs()));
      state_ = state_ * 6364136223846793005ULL + std::strtoull(value.c_str(), nullptr, 10);
    }
    const std::string file = Text(arguments_, "--save");
    if (rank_.rank == 0 && !file.empty())
      TENON_TRY(WriteFileAtomically(file, fmt::format("{} {}\n", step_ + 1, state_)));
    Print(fmt::format("step {}", step_));
    return Status();
  }

  Rank rank_;
  Arguments arguments_;
  std::unique_ptr<Rendezvous> run_;
  std::uint64_t step_ = 0, state_ = 1;
};

int Fail(const Status& status) {
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return 1;
}

int Main(const Arguments& arguments) {
  if (arguments.count("--deaf") != 0) std::signal(SIGTERM, SIG_IGN);
  if (arguments.count("--child") != 0 && fork() == 0) {
    for (;;) pause();
  }
  const Result<Rank> rank = RankFromEnvironment();
  if (!rank.ok()) return Fail(rank.status());
  Print(Describe(*rank));
  Handshake handshake;
  handshake.config = Text(arguments, "--config");
  Result<std::unique_ptr<Rendezvous>> run = JoinRun(*rank, handshake);
  if (!run.ok()) return Fail(run.status());
  Print("all are here");
  Worker worker(*rank, arguments, std::move(*run));
  const Status status = worker.Run();
  if (status.ok()) return 0;
  const Event exit(Text(arguments, "--exit"));
  worker.Abort(status);
  const int code = Fail(status);
  return exit.set && exit.rank == rank->rank ? static_cast<int>(exit.b) : code;
}

}  // namespace
}  // namespace tenon

int main(int argc, char** argv) {
  tenon::Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    const bool alone = name == "--deaf" || name == "--child";
    arguments[name] = alone || i + 1 == argc ? "" : argv[++i];
  }
  return tenon::Main(arguments);
}
