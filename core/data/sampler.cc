#include "core/data/sampler.h"

#include <algorithm>
#include <utility>

#include "core/data/counter_rng.h"

namespace tenon {

Sampler::Sampler(std::shared_ptr<const std::vector<std::int64_t>> samples, const SamplerOptions& options)
    : samples_(std::move(samples)), options_(options) {}

Result<Sampler> Sampler::Create(std::shared_ptr<const std::vector<std::int64_t>> samples,
                                const SamplerOptions& options) {
  TENON_INVALID_IF(options.world < 1, "The number of ranks is {}; it must be at least 1.", options.world);
  TENON_INVALID_IF(options.rank < 0 || options.rank >= options.world, "Rank {} is outside 0 to {} ({} ranks).",
                   options.rank, options.world - 1, options.world);
  return Sampler(std::move(samples), options);
}

std::int64_t Sampler::CountOf(std::int64_t rank) const {
  const std::int64_t all = static_cast<std::int64_t>(samples_->size());
  if (all == 0) return 0;
  if (options_.shard == ShardRule::kWrap) return (all + options_.world - 1) / options_.world;
  return (all - rank + options_.world - 1) / options_.world;
}

void Sampler::Order(std::int64_t epoch, std::vector<std::int64_t>* order) const {
  const std::size_t all = samples_->size();
  const std::size_t world = static_cast<std::size_t>(options_.world);
  const std::size_t mine = static_cast<std::size_t>(count());
  order->reserve(world == 1 ? all : all + mine);
  order->assign(samples_->begin(), samples_->end());
  if (options_.shuffle) {
    const CounterRng rng(options_.seed, streams::kShuffle + static_cast<std::uint64_t>(epoch));
    for (std::size_t i = all; i-- > 1;) std::swap((*order)[i], (*order)[rng.Below(i, i + 1)]);
  }
  if (world == 1) return;
  // Written behind the order and moved to the front, as the tail of a wrapped shard reads the front again.
  for (std::size_t k = 0; k < mine; ++k)
    order->push_back((*order)[(k * world + static_cast<std::size_t>(options_.rank)) % all]);
  std::copy(order->begin() + static_cast<std::ptrdiff_t>(all), order->end(), order->begin());
  order->resize(mine);
}

}  // namespace tenon
