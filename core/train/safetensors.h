#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "core/base/status.h"
#include "core/train/checkpoint.h"
#include "core/train/checkpoint_wire.h"

namespace tenon {

// The .safetensors format: 8 bytes with the length of the header, the header as JSON, then the values without gaps.
// The metadata says {"format": "ms"} and "tenon_crc", the CRC-32 over names and values in the order of the names. Without
// integer scalars the same number is MindSpore's "crc_num"; for those MindSpore computes something else.

// Writes every tensor, wide types first, so that all are aligned.
Status WriteSafetensors(const Checkpoint& checkpoint, bool checksum, const ByteSink& sink);

// Reads a file that lies in memory; the tensors are copies in the order of their values. The header must describe every
// byte once. `*checksum`, when not null, is set when a checksum was there and right. Whatever the bytes are, this ends
// with a checkpoint or an error.
Result<Checkpoint> ReadSafetensors(std::span<const std::uint8_t> file, bool* checksum = nullptr);

}  // namespace tenon
