#include "core/base/digest.h"

#include <sys/types.h>

#include <sha256.h>
#include <zlib.h>

#include <algorithm>

namespace tenon {

struct Sha256::Impl {
  SHA256_CTX context;
};

Sha256::Sha256() : impl_(std::make_unique<Impl>()) { SHA256_Init(&impl_->context); }
Sha256::~Sha256() = default;

void Sha256::Update(const void* data, std::size_t bytes) {
  SHA256_Update(&impl_->context, static_cast<const std::uint8_t*>(data), bytes);
}

std::string Sha256::HexDigest() {
  std::uint8_t digest[SHA256_DIGEST_LENGTH];
  SHA256_Final(digest, &impl_->context);
  static constexpr char kHex[] = "0123456789abcdef";
  std::string text;
  for (const std::uint8_t byte : digest) {
    text.push_back(kHex[byte >> 4]);
    text.push_back(kHex[byte & 15]);
  }
  return text;
}

std::uint32_t Crc32(std::uint32_t crc, const void* data, std::size_t bytes) {
  const auto* at = static_cast<const Bytef*>(data);
  while (bytes > 0) {
    const std::size_t piece = std::min<std::size_t>(bytes, std::size_t{1} << 30);
    crc = static_cast<std::uint32_t>(crc32(crc, at, static_cast<uInt>(piece)));
    at += piece;
    bytes -= piece;
  }
  return crc;
}

}  // namespace tenon
