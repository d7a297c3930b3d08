#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/base/status.h"

namespace tenon {

// How the samples of an epoch are dealt to ranks: rank r gets positions r, r + world, r + 2 world, ... of the order.
// kExact: each sample once, ranks may differ by one; kWrap: equal counts, the tail wraps to the front of the order.
enum class ShardRule { kExact, kWrap };

struct SamplerOptions {
  bool shuffle = false;
  std::uint64_t seed = 0;
  std::int64_t rank = 0;
  std::int64_t world = 1;
  ShardRule shard = ShardRule::kExact;
};

// The order in which one rank sees the samples of an epoch: a function of (samples, seed, epoch, rank, world) alone.
// Shuffled orders are Fisher-Yates over the natural order, from the back: for i = n-1 ... 1 swap i with
// CounterRng(seed, kShuffle + epoch).Below(i, i + 1). Immutable, any thread.
class Sampler {
 public:
  // `samples` are indices into a data set in natural order.
  static Result<Sampler> Create(std::shared_ptr<const std::vector<std::int64_t>> samples,
                                const SamplerOptions& options);

  // Samples that this rank sees in an epoch, and the most that any rank sees.
  std::int64_t count() const { return CountOf(options_.rank); }
  std::int64_t largest_count() const { return CountOf(0); }
  std::int64_t world() const { return options_.world; }
  // Writes the order of an epoch; no allocation once `order` has had room for all samples (of all ranks).
  void Order(std::int64_t epoch, std::vector<std::int64_t>* order) const;

 private:
  Sampler(std::shared_ptr<const std::vector<std::int64_t>> samples, const SamplerOptions& options);
  std::int64_t CountOf(std::int64_t rank) const;

  std::shared_ptr<const std::vector<std::int64_t>> samples_;
  SamplerOptions options_;
};

}  // namespace tenon
