#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tenon {

// Where the time of a rank goes, in milliseconds a step.
struct RankTimes {
  double data = 0;     // waits for batches
  double compute = 0;  // the rest
  double wait = 0;     // waits for the other ranks and the exchange
  double own() const { return data + compute; }
};

// The rank that the others wait for: the slowest, when it needs more than 1.5 times what the median rank needs for its own
// work. Nothing when none does.
std::optional<std::size_t> FindStraggler(std::span<const RankTimes> ranks);

// "Rank 1 is slow: 30.1 ms a step (data 2.0, compute 28.1), the median of 4 ranks is 12.0 ms; ..."
std::string DescribeStraggler(std::span<const RankTimes> ranks, std::size_t straggler);

}  // namespace tenon
