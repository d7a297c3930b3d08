#pragma once

#include <cstdint>

namespace tenon {

// Random numbers that are a pure function of (seed, stream, counter): no state, so any number can be had at any time
// and from any thread. The mixing function is SplitMix64's (Steele, Lea, Flood 2014), applied to
// key + counter * golden ratio, where the key mixes seed and stream. Same values on every machine and in every version.
class CounterRng {
 public:
  CounterRng(std::uint64_t seed, std::uint64_t stream)
      : key_(Mix(Mix(seed + kGolden) ^ (stream * 0xd1342543de82ef95u + 1))) {}

  // 64 random bits.
  std::uint64_t Bits(std::uint64_t counter) const { return Mix(key_ + (counter + 1) * kGolden); }

  // An integer in [0, bound), bound > 0, by multiply and shift (deviation from even odds below bound / 2^64).
  std::uint64_t Below(std::uint64_t counter, std::uint64_t bound) const {
    return static_cast<std::uint64_t>((static_cast<Wide>(Bits(counter)) * bound) >> 64);
  }

  // A double in [0, 1), a multiple of 2^-53.
  double UniformDouble(std::uint64_t counter) const { return static_cast<double>(Bits(counter) >> 11) * 0x1p-53; }

  // A float in [0, 1), a multiple of 2^-24.
  float Uniform(std::uint64_t counter) const { return static_cast<float>(Bits(counter) >> 40) * 0x1p-24f; }

 private:
  __extension__ typedef unsigned __int128 Wide;
  static constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15u;

  static std::uint64_t Mix(std::uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
  }

  std::uint64_t key_;
};

// Streams in use under one seed; each purpose draws from its own.
namespace streams {
inline constexpr std::uint64_t kSplit = std::uint64_t{1} << 32;
inline constexpr std::uint64_t kSynthetic = std::uint64_t{2} << 32;  // + number of the sample is the counter
inline constexpr std::uint64_t kShuffle = std::uint64_t{3} << 32;    // + epoch
inline constexpr std::uint64_t kAugment = std::uint64_t{4} << 32;    // + epoch; the counter is the number of the sample
}  // namespace streams

}  // namespace tenon
