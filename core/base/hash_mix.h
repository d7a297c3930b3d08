#pragma once

#include <cstdint>

namespace tenon {

// `hash` of what comes before, with one more number. Fast, for tables in memory; what is saved or compared between
// processes is hashed by fnv.h.
constexpr std::uint64_t HashMix(std::uint64_t hash, std::uint64_t value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
  return hash ^ (hash >> 32);
}

}  // namespace tenon
