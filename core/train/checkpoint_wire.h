#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "core/base/status.h"
#include "core/train/checkpoint.h"

namespace tenon {

// The .ckpt format of MindSpore: concatenated protobuf messages, one value each,
//
//   Checkpoint  { repeated Value value = 1 }
//   Value       { required string tag = 1; oneof { TensorProto tensor = 2; MapTensorProto maptensor = 3 } }
//   TensorProto { repeated int64 dims = 1; required string tensor_type = 2; required bytes tensor_content = 3 }
//
// then optionally "crc_num" and a CRC-32 in 10 bytes, big-endian. Tensors larger than a piece are several values with
// the same tag. Scalars have no dims.

// Receives the bytes of a file in order.
using ByteSink = std::function<Status(const void* data, std::size_t bytes)>;

struct CkptWriteOptions {
  std::int64_t piece_bytes = std::int64_t{512} << 20;  // larger tensors are split
  bool checksum = true;
};

// Writes every tensor, those without elements too.
Status WriteCkpt(const Checkpoint& checkpoint, const CkptWriteOptions& options, const ByteSink& sink);

// Reads a file that lies in memory; the tensors are copies. `*checksum`, when not null, is set when a checksum was
// there and right. Whatever the bytes are, this ends with a checkpoint or an error, and allocates no more than a small
// multiple of their number.
Result<Checkpoint> ReadCkpt(std::span<const std::uint8_t> file, bool* checksum = nullptr);

// "AES-GCM", "AES-CBC" or "SM4-CBC" for a file that MindSpore encrypted, else empty.
std::string_view EncryptionOf(std::span<const std::uint8_t> file);

}  // namespace tenon
