#include "tools/tenon/doctor_barrier.h"

#include <fmt/format.h>

#include "core/comm/rendezvous.h"
#include "core/platform/process.h"
#include "tools/cli/cli.h"

namespace tenon {
namespace {

Status PassBarrier(const Rank& rank, double timeout) {
  const std::int64_t began = MonotonicNs();
  TENON_ASSIGN(const std::unique_ptr<Rendezvous> run, JoinRun(rank, Handshake{}));
  TENON_TRY(run->Barrier("doctor", static_cast<std::uint64_t>(timeout * 1e9)));
  fmt::print("rank {} of {} passed the barrier after {:.1f} ms\n", rank.rank, rank.size,
             static_cast<double>(MonotonicNs() - began) / 1e6);
  return run->Leave();
}

}  // namespace

int RunDoctorBarrier(const DoctorBarrierOptions& options) {
  const Result<Rank> rank = RankFromEnvironment();
  if (!rank.ok()) return cli::Report(rank.status());
  fmt::print("This process is {}.\n", Describe(*rank));
  if (!rank->many()) {
    fmt::print(
        "There is nobody to wait for. Start it with a launcher, such as `msrun --worker_num=2 --local_worker_num=2 "
        "tenon "
        "doctor barrier`.\n");
    return 2;
  }
  return cli::Report(PassBarrier(*rank, options.timeout));
}

}  // namespace tenon
