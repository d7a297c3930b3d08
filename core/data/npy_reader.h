#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "core/data/byte_reader.h"
#include "core/data/memory_dataset.h"
#include "core/tensor/tensor.h"

namespace tenon {

// numpy's .npy, format versions 1.0 to 3.0: little-endian f2 f4 f8, u1 u2 u4 u8, i1 i2 i4 i8, in C order.
struct NpyArray {
  Tensor values;
  std::int64_t data_start = 0;  // byte of the first value
};

// Reads one whole array. Big-endian and structured types and arrays in Fortran order are refused with the call that
// makes the file readable.
Result<NpyArray> ReadNpy(ByteReader& reader);

Result<NpyArray> ReadNpyFile(const std::string& path);

// Samples [n, ...] from one file, labels [n, ...] from another: integers are classes, floats are values.
Result<std::unique_ptr<MemoryDataset>> OpenNpy(const std::string& samples_path, const std::string& labels_path);
// The same with the labels read already. `ignored`: class number that the loss leaves out.
Result<std::unique_ptr<MemoryDataset>> OpenNpy(const std::string& samples_path, const std::string& labels_path,
                                               NpyArray labels, std::optional<std::int64_t> ignored = std::nullopt);

}  // namespace tenon
