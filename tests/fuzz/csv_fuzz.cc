// CSV files, plain and packed: whatever the bytes, reading ends in a data set or in an error.
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/data/csv_reader.h"
#include "tests/fuzz/seeds.h"
#include "tests/unit/data/data_files.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  for (const tenon::LabelKind label : {tenon::LabelKind::kClass, tenon::LabelKind::kValue}) {
    auto reader = tenon::ByteReader::FromMemory("fuzz", std::as_bytes(std::span(data, size)));
    if (reader.ok()) static_cast<void>(tenon::ReadCsv(*reader, {',', label}).ok());
  }
  return 0;
}

std::vector<std::string> tenon::fuzz::Seeds() {
  const std::string rows = "a,b,class\r\n1,-2.5e3,0\n 3 ,.25,9\n\n";
  return {rows, "1,2\n3,4", testing::Gzip(rows)};
}
