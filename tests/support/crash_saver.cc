// Test program of scripts/crash_save.sh.
//   crash_saver save FOLDER          saves a checkpoint under the same name again and again until it is killed
//   crash_saver check FOLDER         loads the newest checkpoint as a resumed run does, checks that it is one whole save
//                                    and that no temporary file is left; prints its number
//   crash_saver write FILE [VALUE]   writes one small checkpoint
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "core/platform/atomic_file.h"
#include "core/train/checkpoint_folder.h"

namespace tenon {
namespace {

constexpr std::int64_t kElements = 300000;
constexpr int kTensors = 4;

// Every value is the number of the save, so that a mixture of two saves would show.
RunState StateOf(float number, std::int64_t elements) {
  RunState state;
  state.epoch = 1;
  state.step_in_epoch = 1;
  state.global_step = static_cast<std::int64_t>(number);
  for (int i = 0; i < kTensors; ++i) {
    Tensor tensor(DType::kF32, Shape{elements});
    for (float& value : tensor.values<float>()) value = number;
    state.parameters.push_back({"w" + std::to_string(i), tensor});
  }
  return state;
}

int Fail(const std::string& text) {
  std::fprintf(stderr, "%s\n", text.c_str());
  return 1;
}

int SaveForever(const CheckpointFolder& checkpoints, float number) {
  while (true) {
    const auto saved = checkpoints.Save(StateOf(++number, kElements));
    if (!saved.ok()) return Fail(saved.status().ToString());
  }
}

float NumberOf(const FoundCheckpoint& found) { return found.checkpoint.Find("w0")->data<float>()[0]; }

int Check(const std::string& folder, const CheckpointFolder& checkpoints) {
  const auto found = checkpoints.FindLatest();
  if (!found.ok()) return Fail(found.status().ToString());
  for (int i = 0; i < kTensors; ++i) {
    const Tensor* tensor = found->checkpoint.Find("w" + std::to_string(i));
    if (tensor == nullptr || tensor->elements() != kElements) return Fail("a tensor is missing");
    for (const float value : tensor->values<float>()) {
      if (value != NumberOf(*found)) return Fail("the checkpoint is a mixture of two saves");
    }
  }
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (IsTemporaryName(entry.path().filename().string()))
      return Fail("a temporary file is left: " + entry.path().string());
  }
  std::printf("%.0f\n", static_cast<double>(NumberOf(*found)));
  return 0;
}

int Run(const std::string& mode, const std::string& path, const char* value) {
  if (mode == "write") {
    const float number = value != nullptr ? std::strtof(value, nullptr) : 1;
    const Status status = SaveCheckpoint(ToCheckpoint(StateOf(number, 6)), path);
    return status.ok() ? 0 : Fail(status.ToString());
  }
  const CheckpointFolder checkpoints(path, "net", CheckpointFormat::kCkpt, 3);
  if (mode == "check") return Check(path, checkpoints);
  const auto found = checkpoints.FindLatest();
  return SaveForever(checkpoints, found.ok() ? NumberOf(*found) : 0);
}

}  // namespace
}  // namespace tenon

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  return tenon::Run(argv[1], argv[2], argc > 3 ? argv[3] : nullptr);
}
