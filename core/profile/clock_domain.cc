#include "core/profile/clock_domain.h"

#include <algorithm>
#include <cmath>

namespace tenon::profile {

ClockDomain::ClockDomain(std::string name, double ns_per_tick, std::uint64_t bits)
    : name_(std::move(name)),
      ns_per_tick_(std::isfinite(ns_per_tick) && ns_per_tick > 0 ? ns_per_tick : 1.0),
      bits_(bits == 0 || bits > 64 ? 64 : bits) {}

std::int64_t ClockDomain::Unwrap(std::uint64_t ticks, std::int64_t expected) const {
  if (bits_ == 64) return static_cast<std::int64_t>(ticks);
  const std::uint64_t turn = std::uint64_t{1} << bits_;
  // Distance to what is expected, in (-turn/2, turn/2].
  const std::uint64_t ahead = (ticks - static_cast<std::uint64_t>(expected)) & (turn - 1);
  const auto distance = static_cast<std::int64_t>(ahead);
  return expected + (ahead > turn / 2 ? distance - static_cast<std::int64_t>(turn) : distance);
}

// By the stated rate from the nearest pair at or before.
std::int64_t ClockDomain::TicksAt(std::int64_t host_ns) const {
  auto after = std::upper_bound(pairs_.begin(), pairs_.end(), host_ns,
                                [](std::int64_t time, const Pair& pair) { return time < pair.host_ns; });
  const Pair& from = after == pairs_.begin() ? pairs_.front() : *std::prev(after);
  return from.ticks + std::llround(static_cast<double>(host_ns - from.host_ns) / ns_per_tick_);
}

void ClockDomain::AddPair(std::uint64_t ticks, std::int64_t host_ns, std::uint64_t uncertainty_ns) {
  const std::int64_t whole = pairs_.empty() ? static_cast<std::int64_t>(ticks) : Unwrap(ticks, TicksAt(host_ns));
  uncertainty_ns_ = std::max(uncertainty_ns_, uncertainty_ns);
  pairs_.push_back({whole, host_ns});
}

std::int64_t ClockDomain::ToHost(std::uint64_t ticks, std::int64_t near_ns) const {
  if (pairs_.empty()) return near_ns;
  const std::int64_t whole = Unwrap(ticks, TicksAt(near_ns));
  const auto after = std::upper_bound(pairs_.begin(), pairs_.end(), whole,
                                      [](std::int64_t time, const Pair& pair) { return time < pair.ticks; });
  const Pair& from = after == pairs_.begin() ? pairs_.front() : *std::prev(after);
  double rate = ns_per_tick_;
  if (after != pairs_.begin() && after != pairs_.end())
    rate = static_cast<double>(after->host_ns - from.host_ns) / static_cast<double>(after->ticks - from.ticks);
  return from.host_ns + std::llround(static_cast<double>(whole - from.ticks) * rate);
}

}  // namespace tenon::profile
