#include "core/train/checkpoint.h"

#include <algorithm>
#include <cstring>

#include "core/base/digest.h"
#include "core/platform/atomic_file.h"
#include "core/platform/mapped_file.h"
#include "core/train/checkpoint_wire.h"
#include "core/train/safetensors.h"

namespace tenon {
namespace {

bool BeginsWith(std::span<const std::uint8_t> bytes, std::string_view text) {
  return bytes.size() >= text.size() && std::memcmp(bytes.data(), text.data(), text.size()) == 0;
}

bool LooksLikeSafetensors(std::span<const std::uint8_t> bytes) {
  std::uint64_t length = 0;
  if (bytes.size() < sizeof(length) + 2) return false;
  std::memcpy(&length, bytes.data(), sizeof(length));
  return length >= 2 && length <= bytes.size() - sizeof(length) && bytes[sizeof(length)] == '{';
}

// Files of another kind than the name says get a sentence of their own, not one about damage.
Status CheckKind(std::span<const std::uint8_t> bytes, CheckpointFormat format) {
  if (bytes.empty()) return Error(Code::kDataLoss, "The file is empty.");
  // The length of a header that it begins with may have the first bytes of any other kind.
  if (format == CheckpointFormat::kSafetensors && LooksLikeSafetensors(bytes)) return {};
  if (const std::string_view encryption = EncryptionOf(bytes); !encryption.empty()) {
    return InvalidArgument(
        "The file is encrypted ({}). Tenon reads plain checkpoints; load it with its key in the "
        "program that wrote it and save it without one.",
        encryption);
  }
  TENON_INVALID_IF(BeginsWith(bytes, "PK\x03\x04") || BeginsWith(bytes, "\x80\x02"),
                   "The content is not a .{} file but a zip archive or a pickle, as PyTorch and NumPy write them.",
                   NameOf(format));
  TENON_INVALID_IF(BeginsWith(bytes, "\x89HDF"), "The content is not a .{} file but HDF5.", NameOf(format));
  TENON_INVALID_IF(format == CheckpointFormat::kCkpt && LooksLikeSafetensors(bytes),
                   "The content is that of a .safetensors file, but the name ends in .ckpt. Rename the file.");
  TENON_INVALID_IF(format == CheckpointFormat::kSafetensors && bytes[0] == 0x0a && ReadCkpt(bytes).ok(),
                   "The content is that of a .ckpt file, but the name ends in .safetensors. Rename the file.");
  return {};
}

}  // namespace

const Tensor* Checkpoint::Find(std::string_view name) const {
  for (const NamedTensor& entry : tensors) {
    if (entry.name == name) return &entry.tensor;
  }
  return nullptr;
}

std::string_view NameOf(CheckpointFormat format) { return format == CheckpointFormat::kCkpt ? "ckpt" : "safetensors"; }

Result<CheckpointFormat> CheckpointFormatOfPath(std::string_view path) {
  if (path.ends_with(".ckpt")) return CheckpointFormat::kCkpt;
  if (path.ends_with(".safetensors")) return CheckpointFormat::kSafetensors;
  return InvalidArgument("'{}' is not the name of a checkpoint; the names end in .ckpt or .safetensors.", path);
}

Result<Checkpoint> LoadCheckpoint(const std::string& path, CheckpointFileInfo* info) {
  TENON_ASSIGN(const CheckpointFormat format, CheckpointFormatOfPath(path));
  TENON_ASSIGN(const MappedFile file, MappedFile::Open(path));
  TENON_TRY_WHILE(CheckKind(file.bytes(), format), "loading '{}'", path);
  bool checksum = false;
  Result<Checkpoint> checkpoint =
      format == CheckpointFormat::kCkpt ? ReadCkpt(file.bytes(), &checksum) : ReadSafetensors(file.bytes(), &checksum);
  if (!checkpoint.ok()) return std::move(checkpoint).status().While(fmt::format("loading '{}'", path));
  if (info != nullptr) *info = {format, static_cast<std::int64_t>(file.bytes().size()), checksum};
  return checkpoint;
}

Status SaveCheckpoint(const Checkpoint& checkpoint, const std::string& path) {
  TENON_ASSIGN(const CheckpointFormat format, CheckpointFormatOfPath(path));
  TENON_ASSIGN(AtomicFile file, AtomicFile::Create(path));
  const ByteSink sink = [&file](const void* data, std::size_t bytes) { return file.Append(data, bytes); };
  if (format == CheckpointFormat::kCkpt) {
    TENON_TRY_WHILE(WriteCkpt(checkpoint, {}, sink), "saving '{}'", path);
  } else {
    TENON_TRY_WHILE(WriteSafetensors(checkpoint, true, sink), "saving '{}'", path);
  }
  return file.Commit();
}

std::string WeightsSha256(std::span<const NamedTensor> parameters) {
  std::vector<const NamedTensor*> sorted;
  for (const NamedTensor& entry : parameters) sorted.push_back(&entry);
  std::sort(sorted.begin(), sorted.end(), [](const auto* a, const auto* b) { return a->name < b->name; });
  Sha256 digest;
  for (const NamedTensor* entry : sorted) {
    digest.Update(entry->name.c_str(), entry->name.size() + 1);
    digest.Update(entry->tensor.raw(), static_cast<std::size_t>(entry->tensor.bytes()));
  }
  return digest.HexDigest();
}

}  // namespace tenon
