#include "core/train/straggler.h"

#include <fmt/format.h>

#include <algorithm>

namespace tenon {
namespace {

constexpr double kSlow = 1.5;
constexpr double kNoticed = 0.5;  // ms a step; less is not worth a look, and steps that short vary by as much

double MedianOf(std::span<const RankTimes> ranks) {
  std::vector<double> own;
  for (const RankTimes& times : ranks) own.push_back(times.own());
  std::sort(own.begin(), own.end());
  return own[(own.size() - 1) / 2];  // of two the faster one
}

}  // namespace

std::optional<std::size_t> FindStraggler(std::span<const RankTimes> ranks) {
  if (ranks.size() < 2) return std::nullopt;
  const auto slowest = std::max_element(ranks.begin(), ranks.end(),
                                        [](const RankTimes& a, const RankTimes& b) { return a.own() < b.own(); });
  const double median = MedianOf(ranks);
  if (slowest->own() <= kSlow * median || slowest->own() < median + kNoticed) return std::nullopt;
  return static_cast<std::size_t>(slowest - ranks.begin());
}

std::string DescribeStraggler(std::span<const RankTimes> ranks, std::size_t straggler) {
  const RankTimes& slow = ranks[straggler];
  const std::string cause = slow.data > slow.compute
                                ? "It waits for its data: look at data.workers and the disk of that node."
                                : "It computes slowly: look for other work on its cores, or a slower device.";
  return fmt::format(
      "Rank {} is slow: its own work takes {:.1f} ms a step (data {:.1f}, compute {:.1f}); the median of the {} ranks "
      "is "
      "{:.1f} ms, and the others wait for it. {}",
      straggler, slow.own(), slow.data, slow.compute, ranks.size(), MedianOf(ranks), cause);
}

}  // namespace tenon
