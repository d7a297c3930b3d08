#pragma once

#include <cstdint>
#include <string_view>

namespace tenon {

// FNV-1a of 64 bits: short, and equal in all processes and versions, so that its results may be compared and saved. Not
// for input that an enemy chooses.
inline constexpr std::uint64_t kFnvStart = 0xCBF29CE484222325u;

// `hash` of what comes before, with one more byte.
constexpr std::uint64_t FnvByte(std::uint64_t hash, unsigned char byte) { return (hash ^ byte) * 0x100000001B3u; }

// `hash` of what comes before, with all bytes of `text`.
constexpr std::uint64_t Fnv(std::string_view text, std::uint64_t hash = kFnvStart) {
  for (const char c : text) hash = FnvByte(hash, static_cast<unsigned char>(c));
  return hash;
}

}  // namespace tenon
