#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace tenon {

// Incremental SHA-256 (FIPS 180-4).
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;
  void Update(const void* data, std::size_t bytes);
  std::string HexDigest();  // ends the computation

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// CRC-32 (IEEE 802.3, as in zlib) continued from `crc`; start with 0.
std::uint32_t Crc32(std::uint32_t crc, const void* data, std::size_t bytes);

}  // namespace tenon
