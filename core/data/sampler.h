#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace tenon {

struct SamplerOptions {
  bool shuffle = false;
  std::uint64_t seed = 0;
};

// The order of the samples of an epoch: a function of (samples, seed, epoch) alone, so that all ranks have the same.
// Shuffled orders are Fisher-Yates over the natural order, from the back: for i = n-1 ... 1 swap i with
// CounterRng(seed, kShuffle + epoch).Below(i, i + 1). Immutable, any thread.
class Sampler {
 public:
  // `samples` are indices into a data set in natural order.
  Sampler(std::shared_ptr<const std::vector<std::int64_t>> samples, const SamplerOptions& options);

  std::int64_t count() const { return static_cast<std::int64_t>(samples_->size()); }
  // Writes the order of an epoch; no allocation once `order` has had room for it.
  void Order(std::int64_t epoch, std::vector<std::int64_t>* order) const;

 private:
  std::shared_ptr<const std::vector<std::int64_t>> samples_;
  SamplerOptions options_;
};

}  // namespace tenon
