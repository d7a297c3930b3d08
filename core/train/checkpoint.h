#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "core/tensor/tensor.h"

namespace tenon {

// A tensor with the name that users know it by. Rank 0 is a scalar.
struct NamedTensor {
  std::string name;
  Tensor tensor;
};

// The content of a checkpoint file: named tensors in the order of the file, and texts, which only foreign files have.
struct Checkpoint {
  std::vector<NamedTensor> tensors;
  struct Text {
    std::string name;
    std::string value;  // UTF-8
  };
  std::vector<Text> texts;

  void Add(std::string name, Tensor tensor) { tensors.push_back({std::move(name), std::move(tensor)}); }
  // The tensor of that name, or null. Looks at each; for many names make an index.
  const Tensor* Find(std::string_view name) const;
};

enum class CheckpointFormat { kCkpt, kSafetensors };

// "ckpt" or "safetensors".
std::string_view NameOf(CheckpointFormat format);
// The format that the ending of a file name says, or an error that names the endings.
Result<CheckpointFormat> CheckpointFormatOfPath(std::string_view path);

// What a file says about itself besides its tensors.
struct CheckpointFileInfo {
  CheckpointFormat format = CheckpointFormat::kCkpt;
  std::int64_t bytes = 0;
  bool checksum = false;  // a checksum is there, and is right
};

// Reads a whole file. Sizes, types, names and the checksum (when there is one) are checked; the error says which file,
// which tensor and what is wrong with it. DATA_LOSS: the file is damaged; INVALID_ARGUMENT: it is of another kind.
Result<Checkpoint> LoadCheckpoint(const std::string& path, CheckpointFileInfo* info = nullptr);

// Writes a file with a checksum; it appears complete or not at all (AtomicFile). Equal checkpoints give equal bytes.
// Two tensors of one name or an empty name are an error.
Status SaveCheckpoint(const Checkpoint& checkpoint, const std::string& path);

// SHA-256 over all tensors in byte order of their names: name, a zero byte, row-major little-endian values. As hex.
std::string WeightsSha256(std::span<const NamedTensor> parameters);

}  // namespace tenon
