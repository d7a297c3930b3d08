#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "core/data/byte_reader.h"
#include "core/data/memory_dataset.h"
#include "core/tensor/tensor.h"

namespace tenon {

// The IDX form of MNIST and its relatives: two zero bytes, a type byte (08 uint8, 09 int8, 0B int16, 0C int32,
// 0D float32, 0E float64), the rank, the dims as big-endian 32-bit numbers, then the values, big-endian.
struct IdxArray {
  Tensor values;                // in the byte order of this machine
  std::int64_t data_start = 0;  // byte of the first value
};

// Reads one whole array; anything missing, left over or contradictory is an error with file, byte, expected and found.
Result<IdxArray> ReadIdx(ByteReader& reader);

// Images [n, h, w] become samples [1, h, w]; [n, c, h, w] and [n, features] stay. Labels are [n] integers.
Result<std::unique_ptr<MemoryDataset>> OpenIdx(const std::string& images_path, const std::string& labels_path,
                                               std::optional<std::int64_t> ignored = std::nullopt);

// The usual names in a folder: {train,t10k}-{images-idx3,labels-idx1}-ubyte, also with a dot before idx, plain or .gz.
struct IdxFiles {
  std::string images;
  std::string labels;
};
enum class IdxPart { kTrain, kTest };
// The two files of a part. When neither is there: an empty optional for the test part, an error for the train part.
Result<std::optional<IdxFiles>> FindIdxFiles(const std::string& folder, IdxPart part);

}  // namespace tenon
