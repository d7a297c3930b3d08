#include "core/data/sampler.h"

#include <utility>

#include "core/data/counter_rng.h"

namespace tenon {

Sampler::Sampler(std::shared_ptr<const std::vector<std::int64_t>> samples, const SamplerOptions& options)
    : samples_(std::move(samples)), options_(options) {}

void Sampler::Order(std::int64_t epoch, std::vector<std::int64_t>* order) const {
  order->assign(samples_->begin(), samples_->end());
  if (!options_.shuffle) return;
  const CounterRng rng(options_.seed, streams::kShuffle + static_cast<std::uint64_t>(epoch));
  for (std::size_t i = order->size(); i-- > 1;) std::swap((*order)[i], (*order)[rng.Below(i, i + 1)]);
}

}  // namespace tenon
