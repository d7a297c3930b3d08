// CIFAR files, plain and packed: whatever the bytes, reading ends in a data set or in an error.
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/data/cifar_reader.h"
#include "tests/fuzz/seeds.h"
#include "tests/unit/data/data_files.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  for (const tenon::CifarKind kind : {tenon::CifarKind::kCifar10, tenon::CifarKind::kCifar100}) {
    auto reader = tenon::ByteReader::FromMemory("fuzz", std::as_bytes(std::span(data, size)));
    if (reader.ok()) static_cast<void>(tenon::CifarDataset::Read(*reader, kind).ok());
  }
  return 0;
}

std::vector<std::string> tenon::fuzz::Seeds() {
  const std::string ten(2 * 3073, '\x05'), hundred(3074, '\x05');
  return {ten, hundred, testing::Gzip(ten)};
}
