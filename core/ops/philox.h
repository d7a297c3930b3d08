#pragma once

#include <array>
#include <cstdint>

namespace tenon {

// Philox4x32-10: four random 32-bit words from a 128-bit counter and a 64-bit key. Source: Salmon et al., "Parallel random
// numbers: as easy as 1, 2, 3", SC 2011.
//
// The rule by which every device draws for an operator of type Random, so that all give the same numbers: element i of the
// output uses word i % 4 of Philox(counter = {low 32 bits of i / 4, high 32 bits of i / 4, low 32 bits of offset, high 32
// bits of offset}, key = {low 32 bits, high 32 bits}), key and offset from RandomState.
inline std::array<std::uint32_t, 4> Philox(std::array<std::uint32_t, 4> counter, std::uint64_t key) {
  auto key0 = static_cast<std::uint32_t>(key), key1 = static_cast<std::uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = std::uint64_t{0xD2511F53u} * counter[0], b = std::uint64_t{0xCD9E8D57u} * counter[2];
    counter = {static_cast<std::uint32_t>(b >> 32) ^ counter[1] ^ key0, static_cast<std::uint32_t>(b),
               static_cast<std::uint32_t>(a >> 32) ^ counter[3] ^ key1, static_cast<std::uint32_t>(a)};
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  return counter;
}

// The four words of elements 4 * block to 4 * block + 3.
inline std::array<std::uint32_t, 4> PhiloxBlock(std::uint64_t key, std::uint64_t offset, std::uint64_t block) {
  return Philox({static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32),
                 static_cast<std::uint32_t>(offset), static_cast<std::uint32_t>(offset >> 32)},
                key);
}

}  // namespace tenon
