// IDX files, plain and packed: whatever the bytes, reading ends in an array or in an error, without a crash and without
// taking memory that the file cannot fill.
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/data/idx_reader.h"
#include "tests/fuzz/seeds.h"
#include "tests/unit/data/data_files.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  auto reader = tenon::ByteReader::FromMemory("fuzz", std::as_bytes(std::span(data, size)));
  if (reader.ok()) static_cast<void>(tenon::ReadIdx(*reader).ok());
  return 0;
}

std::vector<std::string> tenon::fuzz::Seeds() {
  const std::string images = testing::Idx(8, {2, 2, 2}, "abcdefgh");
  return {images, testing::Idx(8, {3}, "\1\2\3"), testing::Idx(0x0c, {1}, "abcd"), testing::Gzip(images)};
}
