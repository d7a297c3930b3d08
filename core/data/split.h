#pragma once

#include <cstdint>
#include <vector>

#include "core/base/status.h"

namespace tenon {

// Which samples of one source are for testing.
struct SplitRule {
  std::int64_t every = 0;  // k >= 2: rows k-1, 2k-1, ... counted from 0; 0 = not this rule
  double fraction = 0;  // in (0, 1): round(n * fraction) samples (at least 1, at most n - 1), those with the smallest
                        // CounterRng(seed, kSplit).Bits(row); 0 = not this rule
};

struct SplitParts {
  std::vector<std::int64_t> train;  // rows in natural order
  std::vector<std::int64_t> test;
};

// Deals the rows 0 .. count-1; without a rule all are for training. Refuses a rule that leaves a part without samples.
Result<SplitParts> SplitRows(std::int64_t count, const SplitRule& rule, std::uint64_t seed);

}  // namespace tenon
