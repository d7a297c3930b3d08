#pragma once

#include <memory>
#include <optional>
#include <string>

#include "core/data/byte_reader.h"
#include "core/data/memory_dataset.h"

namespace tenon {

struct CsvOptions {
  char delimiter = ',';
  LabelKind label = LabelKind::kClass;                 // the last column: a class number, or a value
  std::optional<std::int64_t> ignored = std::nullopt;  // class number that the loss leaves out
};

// Rows of numbers; the last column is the label, the others are the sample, float32 [columns - 1].
// A first row without a single number is a header and passed over (description() says so). Every row has as many
// columns as the first; numbers are decimal with a point, finite, blanks around them allowed; empty fields, quotes
// and empty lines (but at the end) are errors. Errors carry file:line:column, the column counted in characters.
Result<std::unique_ptr<MemoryDataset>> ReadCsv(ByteReader& reader, const CsvOptions& options);
Result<std::unique_ptr<MemoryDataset>> OpenCsv(const std::string& path, const CsvOptions& options);

}  // namespace tenon
