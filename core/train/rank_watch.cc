#include "core/train/rank_watch.h"

#include <algorithm>
#include <utility>

#include "core/base/log.h"

namespace tenon {
namespace {

constexpr double kMuch = 0.2;  // share of communication that is worth a look
constexpr double kMb = 1 << 20;

}  // namespace

void RankWatch::Total::Add(const RankTimes& step) {
  sum.data += step.data;
  sum.compute += step.compute;
  sum.wait += step.wait;
  ++steps;
}

RankTimes RankWatch::Total::Mean() const {
  const double count = static_cast<double>(std::max<std::int64_t>(1, steps));
  return {sum.data / count, sum.compute / count, sum.wait / count};
}

std::int64_t RankWatch::wait_ns() const {
  const Communicator &host = ranks_.host(), &device = ranks_.device();
  return host.counts().wait_ns + (&device == &host ? 0 : device.counts().wait_ns);
}

Result<std::vector<RankTimes>> RankWatch::Gather(const Total& total) {
  const RankTimes mean = total.Mean();
  const double mine[] = {mean.data, mean.compute, mean.wait};
  TENON_ASSIGN_WHILE(const std::vector<double> all, ranks_.host().AllGatherNow(std::span<const double>(mine)),
                     "comparing the times of the ranks");
  std::vector<RankTimes> times;
  for (std::size_t i = 0; i < all.size(); i += 3) times.push_back({all[i], all[i + 1], all[i + 2]});
  return times;
}

Result<std::string> RankWatch::Note(const RankTimes& step) {
  all_.Add(step);
  since_look_.Add(step);
  if (every_ == 0 || since_look_.steps < every_) return std::string();
  TENON_ASSIGN(const std::vector<RankTimes> times, Gather(since_look_));
  since_look_ = {};
  const auto straggler = FindStraggler(times);
  return straggler ? DescribeStraggler(times, *straggler) : std::string();
}

Status RankWatch::AddTo(RunSummary* summary) {
  TENON_ASSIGN(const std::vector<RankTimes> times, Gather(all_));
  for (std::size_t rank = 0; rank < times.size(); ++rank)
    summary->ranks.push_back(
        {static_cast<std::int64_t>(rank), times[rank].data, times[rank].compute, times[rank].wait});
  const auto straggler = FindStraggler(times);
  if (straggler) summary->warnings.push_back(DescribeStraggler(times, *straggler));
  const auto mine = static_cast<std::size_t>(ranks_.rank().rank);
  const std::string share = DescribeCommunication(mine, times[mine], straggler.has_value());
  if (!share.empty()) summary->warnings.push_back(share);
  summary->step_ms.comm = times[mine].wait;

  const exec::ExchangeTimes& exchange = ranks_.gradients().times();
  const CommCounts& counts = ranks_.device().counts();
  const double steps = static_cast<double>(std::max<std::int64_t>(1, exchange.steps));
  RunSummary::Communication out;
  out.plugin = ranks_.device().Describe();
  out.buckets = static_cast<std::int64_t>(ranks_.gradients().size());
  out.mb = static_cast<double>(ranks_.gradients().bytes()) / kMb;
  out.wait_ms = static_cast<double>(exchange.wait_ns) * 1e-6 / steps;
  out.flight_ms = static_cast<double>(exchange.flight_ns) * 1e-6 / steps;
  out.copies = exchange.copies;
  out.staged = counts.staged;
  out.staged_mb = static_cast<double>(counts.staged_bytes) / kMb;
  out.emulated = counts.emulated;
  summary->communication = std::move(out);
  return {};
}

std::string DescribeCommunication(std::size_t rank, const RankTimes& times, bool has_straggler) {
  const double step = times.own() + times.wait;
  if (step <= 0 || times.wait <= kMuch * step) return {};
  return fmt::format("Rank {} stands still for communication during {:.0f} % of its steps ({:.1f} of {:.1f} ms). {}",
                     rank, 100 * times.wait / step, times.wait, step,
                     has_straggler ? "It waits for the slow rank, not for the network."
                                   : "Larger batches or train.accumulate make it less.");
}

}  // namespace tenon
