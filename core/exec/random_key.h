#pragma once

#include <cstdint>
#include <string_view>

#include "core/base/fnv.h"

namespace tenon::exec {

// Key of a random operator: the same for the same seed and node name in both engines, whatever stands around the node
// (the hash of the name, mixed with the seed by a SplitMix64 round).
inline std::uint64_t RandomKey(std::uint64_t seed, std::string_view name) {
  std::uint64_t mixed = Fnv(name) + seed * 0x9e3779b97f4a7c15u;
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9u;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebu;
  return mixed ^ (mixed >> 31);
}

}  // namespace tenon::exec
