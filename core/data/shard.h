#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/status.h"

namespace tenon {

// How an epoch is dealt to the ranks of a run. kExact: each sample once; kWrap: equal counts, by repeating samples.
enum class ShardRule { kExact, kWrap };
std::vector<std::string> ConfigNamesOf(ShardRule);

// Which part of an epoch one of several ranks gets. The epoch has one order for all ranks. It is cut into steps of
// size * batch samples, so that a step has the same samples whatever the number of ranks that share it, and place p of a
// step is that of rank p % size. All ranks have the same number of steps.
//
// kExact: the last step of an epoch (with buckets: of each bucket) may have one sample fewer for a rank than for another,
// or none. kWrap: a last step that does not come out even goes on at the front of the order (of its bucket).
struct Shard {
  std::int64_t rank = 0;
  std::int64_t size = 1;
  ShardRule rule = ShardRule::kExact;
  // For evaluations: steps of `batch` samples as on one rank, step s whole to rank s % size. Numbers of steps differ.
  bool whole_batches = false;

  Status Check() const;
  std::int64_t RoundedUp(std::int64_t places) const { return (places + size - 1) / size * size; }
};

}  // namespace tenon
