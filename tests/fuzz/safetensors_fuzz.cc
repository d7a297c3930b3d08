// .safetensors files: whatever the bytes, reading ends in a checkpoint or in an error; what was read can be written,
// and reads the same again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "core/train/checkpoint_diff.h"
#include "core/train/safetensors.h"
#include "tests/fuzz/seeds.h"
#include "tests/fuzz/small_checkpoint.h"

namespace {

std::string Written(const tenon::Checkpoint& checkpoint, bool checksum) {
  std::string out;
  const auto sink = [&](const void* data, std::size_t bytes) {
    out.append(static_cast<const char*>(data), bytes);
    return tenon::Status();
  };
  if (!tenon::WriteSafetensors(checkpoint, checksum, sink).ok()) std::abort();
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto checkpoint = tenon::ReadSafetensors(std::span(data, size));
  if (!checkpoint.ok()) return 0;
  const std::string file = Written(*checkpoint, true);
  const auto again = tenon::ReadSafetensors({reinterpret_cast<const std::uint8_t*>(file.data()), file.size()});
  if (!again.ok() || !tenon::Diff(*checkpoint, *again, {}).same()) std::abort();
  return 0;
}

std::vector<std::string> tenon::fuzz::Seeds() {
  return {Written(tenon::fuzz::SmallCheckpoint(), false), Written(tenon::fuzz::SmallCheckpoint(), true)};
}
