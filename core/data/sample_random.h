#pragma once

#include <cstdint>

#include "core/data/counter_rng.h"

namespace tenon {

// The chances of one sample in one epoch: a function of (seed, epoch, number of the sample) alone, so batches are the
// same for any number of workers and in a run that was resumed. Each transform draws from a stream of its own; leaving
// one out does not change the others.
class SampleRandom {
 public:
  enum class Purpose : std::uint64_t { kPart, kWindow, kFlip, kColours, kMix };

  SampleRandom(std::uint64_t seed, std::int64_t epoch, std::int64_t sample)
      : key_(CounterRng(seed, streams::kAugment + static_cast<std::uint64_t>(epoch))
                 .Bits(static_cast<std::uint64_t>(sample))) {}

  CounterRng For(Purpose purpose) const { return CounterRng(key_, static_cast<std::uint64_t>(purpose)); }

 private:
  std::uint64_t key_;
};

}  // namespace tenon
