// Philox4x32-10, the counter-based generator that all devices draw from (Salmon et al., SC 2011): element i of a random
// operator uses word i % 4 of block i / 4.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>

namespace tenon::npu {

inline std::array<uint32_t, 4> PhiloxBlock(uint64_t key, uint64_t offset, uint64_t block) {
  std::array<uint32_t, 4> c = {static_cast<uint32_t>(block), static_cast<uint32_t>(block >> 32),
                               static_cast<uint32_t>(offset), static_cast<uint32_t>(offset >> 32)};
  auto key0 = static_cast<uint32_t>(key), key1 = static_cast<uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = uint64_t{0xD2511F53u} * c[0], b = uint64_t{0xCD9E8D57u} * c[2];
    c = {static_cast<uint32_t>(b >> 32) ^ c[1] ^ key0, static_cast<uint32_t>(b),
         static_cast<uint32_t>(a >> 32) ^ c[3] ^ key1, static_cast<uint32_t>(a)};
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  return c;
}

// An element is dropped where its word is below this.
inline uint64_t DropLimit(double ratio) { return static_cast<uint64_t>(std::floor(ratio * 4294967296.0)); }

}  // namespace tenon::npu
