// .ckpt files: whatever the bytes, reading ends in a checkpoint or in an error; what was read can be written, and reads
// the same again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "core/train/checkpoint_diff.h"
#include "core/train/checkpoint_wire.h"
#include "tests/fuzz/seeds.h"
#include "tests/fuzz/small_checkpoint.h"

namespace {

std::string Written(const tenon::Checkpoint& checkpoint, const tenon::CkptWriteOptions& options) {
  std::string out;
  const auto sink = [&](const void* data, std::size_t bytes) {
    out.append(static_cast<const char*>(data), bytes);
    return tenon::Status();
  };
  if (!tenon::WriteCkpt(checkpoint, options, sink).ok()) std::abort();
  return out;
}

tenon::Result<tenon::Checkpoint> Read(const std::string& file) {
  return tenon::ReadCkpt({reinterpret_cast<const std::uint8_t*>(file.data()), file.size()});
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  auto checkpoint = tenon::ReadCkpt(std::span(data, size));
  if (!checkpoint.ok()) return 0;
  checkpoint->texts.clear();
  const auto again = Read(Written(*checkpoint, {}));
  if (!again.ok() || !tenon::Diff(*checkpoint, *again, {}).same()) std::abort();
  return 0;
}

std::vector<std::string> tenon::fuzz::Seeds() {
  return {Written(tenon::fuzz::SmallCheckpoint(), {}), Written(tenon::fuzz::SmallCheckpoint(), {512, false}),
          Written(tenon::fuzz::SmallCheckpoint(), {8, false})};
}
