#include "tools/tenon/doctor_net.h"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <cstdlib>

#include "core/comm/communicator.h"
#include "core/comm/rendezvous.h"
#include "core/comm/rendezvous/library.h"
#include "core/platform/process.h"
#include "core/plugin/plugin_registry.h"
#include "tools/cli/cli.h"

namespace tenon {
namespace {

constexpr double kClockLimit = 1.0;  // seconds; logs and certificates suffer beyond

void Tell(const char* step, const std::string& text) { fmt::print("ok    {:<10} {}\n", step, text); }
Status TellFailed(const char* step, Status status) {
  fmt::print("FAILED {:<9} {}\n", step, status.message());
  return status;
}

double WallSeconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::uint64_t Ns(double seconds) { return static_cast<std::uint64_t>(seconds * 1e9); }

// Every rank puts the time at which it left a barrier; what differs by more than the barrier itself is the clocks.
Status CompareClocks(const Rank& rank, Rendezvous& run, double timeout) {
  TENON_TRY(run.Barrier("doctor/clock", Ns(timeout)));
  const double own = WallSeconds();
  TENON_TRY(run.store().Put(fmt::format("doctor/clock/{}", rank.rank), fmt::format("{:.6f}", own)));
  double worst = 0;
  std::uint32_t worst_rank = rank.rank;
  for (std::uint32_t other = 0; other < rank.size; ++other) {
    TENON_ASSIGN(const std::string text, run.store().Get(fmt::format("doctor/clock/{}", other), Ns(timeout)));
    const double difference = std::strtod(text.c_str(), nullptr) - own;
    if (std::abs(difference) > std::abs(worst)) worst_rank = other;
    if (std::abs(difference) > std::abs(worst)) worst = difference;
  }
  if (std::abs(worst) > kClockLimit)
    return Error(Code::kFailedPrecondition, "The clock of rank {} differs from that of rank {} by {:.3f} s.",
                 worst_rank, rank.rank, worst);
  Tell("clock", fmt::format("the clocks differ by at most {:.0f} ms", std::abs(worst) * 1e3));
  return Status();
}

Status SumRanks(const DoctorNetOptions& options, const Rank& rank, Rendezvous& run, PluginRegistry& registry) {
  TENON_ASSIGN(const CollectivePlugin plugin, FindCollective(registry, options.comm));
  CommunicatorOptions communicator = OptionsIn(run, rank);
  communicator.name = "doctor";
  communicator.timeout_ns = Ns(options.timeout);
  TENON_ASSIGN(const std::unique_ptr<Communicator> world, Communicator::Make(plugin, communicator));
  float value = static_cast<float>(rank.rank + 1);
  const std::int64_t began = MonotonicNs();
  TENON_TRY(world->AllReduceNow(std::span<float>(&value, 1)));
  const auto expected = static_cast<float>(std::uint64_t{rank.size} * (rank.size + 1) / 2);
  if (value != expected)
    return Error(Code::kDataLoss, "The sum of 1 to {} over the ranks is {}, not {}.", rank.size, value, expected);
  Tell("all-reduce", fmt::format("{}; 1 to {} add up to {}, {:.1f} ms", world->Describe(), rank.size, value,
                                 static_cast<double>(MonotonicNs() - began) / 1e6));
  return Status();
}

Status CheckRun(const DoctorNetOptions& options, const Rank& rank) {
  PluginRegistry::Options registry_options;
  registry_options.search.plugin_dirs = options.plugin_dirs;
  PluginRegistry registry(std::move(registry_options));
  TENON_TRY(registry.Find(PluginsConfig{}));
  const std::int64_t began = MonotonicNs();
  Result<std::unique_ptr<Rendezvous>> joined = JoinRun(rank, Handshake{});
  if (!joined.ok()) return TellFailed("meeting", joined.status());
  Rendezvous& run = **joined;
  Tell("meeting", fmt::format("{} ranks met at {}:{} in {:.1f} ms; all run Tenon {}", rank.size, rank.address,
                              rank.port, static_cast<double>(MonotonicNs() - began) / 1e6, TENON_VERSION_STRING));
  // A clock that is wrong does not keep the others from finding what else is.
  const Status clocks = CompareClocks(rank, run, options.timeout);
  if (!clocks.ok()) (void)TellFailed("clock", clocks);
  Status sum = SumRanks(options, rank, run, registry);
  if (!sum.ok()) {
    (void)TellFailed("all-reduce", sum);
    run.Abort(sum);
    return sum;
  }
  TENON_TRY(run.Barrier("doctor/end", Ns(options.timeout)));
  TENON_TRY(run.Leave());
  return clocks;
}

int LookFromOutside(const DoctorNetOptions& options) {
  const Result<const rendezvous::Library*> library = rendezvous::OpenLibrary();
  if (!library.ok()) return cli::Report(library.status());
  const Result<std::string> answer =
      (*library)->probe(options.address, static_cast<std::uint16_t>(options.port), Ns(options.timeout));
  if (!answer.ok()) return cli::Report(TellFailed("rendezvous", answer.status()));
  Tell("rendezvous", fmt::format("{}:{} answers: {}", options.address, options.port, *answer));
  return 0;
}

}  // namespace

int RunDoctorNet(const DoctorNetOptions& options) {
  if (!options.address.empty()) return LookFromOutside(options);
  const Result<Rank> rank = RankFromEnvironment();
  if (!rank.ok()) return cli::Report(rank.status());
  if (!rank->many()) {
    fmt::print(
        "Start it with a launcher, such as `msrun --worker_num=2 --local_worker_num=2 tenon doctor net`, or give the "
        "--address of a rendezvous to look at.\n");
    return 2;
  }
  Tell("rank", Describe(*rank));
  const Status status = CheckRun(options, *rank);
  return status.ok() ? 0 : cli::ExitCode(status);
}

}  // namespace tenon
