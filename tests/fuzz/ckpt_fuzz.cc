// .ckpt files: whatever the bytes, reading ends in a checkpoint or in an error; what was read can be written, and reads
// the same again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "core/train/checkpoint_diff.h"
#include "core/train/checkpoint_wire.h"
#include "tests/fuzz/seeds.h"

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

tenon::Checkpoint Some() {
  tenon::Checkpoint checkpoint;
  checkpoint.Add("w", tenon::Tensor::Of<float>(tenon::Shape{2, 2}, {1, 2, 3, 4}));
  checkpoint.Add("n", tenon::Tensor::Scalar<std::int64_t>(7));
  checkpoint.Add("flag", tenon::Tensor::Of<bool>(tenon::Shape{2}, {true, false}));
  checkpoint.Add("none", tenon::Tensor(tenon::DType::kF16, tenon::Shape{0, 3}));
  return checkpoint;
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
  return {Written(Some(), {}), Written(Some(), {512, false}), Written(Some(), {8, false})};
}
