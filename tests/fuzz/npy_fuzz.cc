// .npy files, plain and packed: whatever the bytes, reading ends in an array or in an error.
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/data/npy_reader.h"
#include "tests/fuzz/seeds.h"
#include "tests/unit/data/data_files.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  auto reader = tenon::ByteReader::FromMemory("fuzz", std::as_bytes(std::span(data, size)));
  if (reader.ok()) static_cast<void>(tenon::ReadNpy(*reader).ok());
  return 0;
}

std::vector<std::string> tenon::fuzz::Seeds() {
  const std::string array = testing::Npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 1), }", "abcdefgh");
  return {array, testing::Npy("{'shape': (), 'descr': '<i8', 'fortran_order': False}", "abcdefgh", 3),
          testing::Gzip(array)};
}
