#include "core/train/checkpoint.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/train/checkpoint_state.h"
#include "tests/support/temp_folder.h"

namespace tenon {
namespace {

using testing_support::CountFiles;
using testing_support::ReadFile;
using testing_support::TempFolder;
using testing_support::WriteFile;

RunState SomeState() {
  RunState state;
  state.parameters.push_back({"fc.weight", Tensor::Of<float>(Shape{2, 2}, {1, 2, 3, 4})});
  state.parameters.push_back({"fc.bias", Tensor::Of<float>(Shape{2}, {5, 6})});
  state.optimizer_state.push_back({OptimizerStateName("momentum", "fc.weight"), Tensor(DType::kF32, Shape{2, 2})});
  state.epoch = 2;
  state.step_in_epoch = 7;
  state.global_step = 47;
  state.seed = -3;
  state.learning_rate = 0.5;
  state.momentum = 0.9;
  state.scaler = RunState::Scaler{1024, 5, 1};
  state.extra.push_back({"train.loss_sum", Tensor::Scalar<double>(1.25)});
  return state;
}

// The length stands first: 640 are the bytes that a pickle begins with.
TEST(Checkpoint, ASafetensorsHeaderMayHaveAnyLength) {
  TempFolder folder;
  for (std::size_t length = 1; length < 600; ++length) {
    Checkpoint checkpoint;
    checkpoint.Add(std::string(length, 'w'), Tensor::Scalar(1.0F));
    ASSERT_TRUE(SaveCheckpoint(checkpoint, folder / "a.safetensors").ok());
    const auto loaded = LoadCheckpoint(folder / "a.safetensors");
    ASSERT_TRUE(loaded.ok()) << length << ": " << loaded.status().ToString();
  }
}

TEST(Checkpoint, BothFormatsGiveTheSameValues) {
  TempFolder folder;
  const Checkpoint checkpoint = ToCheckpoint(SomeState());
  ASSERT_TRUE(SaveCheckpoint(checkpoint, folder / "a.ckpt").ok());
  ASSERT_TRUE(SaveCheckpoint(checkpoint, folder / "a.safetensors").ok());
  CheckpointFileInfo info;
  const auto a = LoadCheckpoint(folder / "a.ckpt", &info);
  ASSERT_TRUE(a.ok()) << a.status().ToString();
  EXPECT_TRUE(info.checksum);
  EXPECT_EQ(info.bytes, static_cast<std::int64_t>(ReadFile(folder / "a.ckpt").size()));
  const auto b = LoadCheckpoint(folder / "a.safetensors", &info);
  ASSERT_TRUE(b.ok()) << b.status().ToString();
  EXPECT_TRUE(info.checksum);
  ASSERT_EQ(a->tensors.size(), b->tensors.size());
  for (const NamedTensor& entry : a->tensors) {
    const Tensor* other = b->Find(entry.name);
    ASSERT_NE(other, nullptr) << entry.name;
    ASSERT_EQ(entry.tensor.Describe(), other->Describe());
    EXPECT_EQ(std::memcmp(entry.tensor.raw(), other->raw(), static_cast<std::size_t>(entry.tensor.bytes())), 0);
  }
}

TEST(Checkpoint, EqualStatesAreEqualFiles) {
  TempFolder folder;
  ASSERT_TRUE(SaveCheckpoint(ToCheckpoint(SomeState()), folder / "a.ckpt").ok());
  ASSERT_TRUE(SaveCheckpoint(ToCheckpoint(SomeState()), folder / "b.ckpt").ok());
  EXPECT_EQ(ReadFile(folder / "a.ckpt"), ReadFile(folder / "b.ckpt"));
}

TEST(Checkpoint, TheOrderIsThatOfMindSpore) {
  std::vector<std::string> names;
  for (const NamedTensor& entry : ToCheckpoint(SomeState()).tensors) names.push_back(entry.name);
  const std::vector<std::string> first(names.begin(), names.begin() + 6);
  EXPECT_EQ(first, (std::vector<std::string>{"fc.weight", "fc.bias", "global_step", "learning_rate", "momentum",
                                             "moments.fc.weight"}));
  const Checkpoint checkpoint = ToCheckpoint(SomeState());
  EXPECT_EQ(checkpoint.Find("global_step")->Describe(), "int32[1]");
  EXPECT_EQ(checkpoint.Find("learning_rate")->Describe(), "float32[]");
  EXPECT_EQ(checkpoint.Find("epoch_num")->Describe(), "int64[]");
}

TEST(Checkpoint, RunScalarsComeBack) {
  const auto state = ReadRunScalars(ToCheckpoint(SomeState()));
  ASSERT_TRUE(state.ok()) << state.status().ToString();
  EXPECT_EQ(state->epoch, 2);
  EXPECT_EQ(state->step_in_epoch, 7);
  EXPECT_EQ(state->global_step, 47);
  EXPECT_EQ(state->seed, -3);
  EXPECT_EQ(state->learning_rate, 0.5);
  ASSERT_TRUE(state->scaler.has_value());
  EXPECT_EQ(state->scaler->scale, 1024);
  EXPECT_EQ(state->scaler->good_steps, 5);
  ASSERT_EQ(state->extra.size(), 1U);
  EXPECT_EQ(*state->extra[0].tensor.data<double>(), 1.25);
  Checkpoint weights;
  weights.tensors = SomeState().parameters;
  const auto none = ReadRunScalars(weights);
  ASSERT_FALSE(none.ok());
  EXPECT_NE(none.status().message().find("holds weights only"), std::string::npos);
}

TEST(Checkpoint, OtherKindsOfFilesAreNamed) {
  TempFolder folder;
  const auto error = [&](const std::string& name, const std::string& content) {
    WriteFile(folder / name, content);
    const auto result = LoadCheckpoint(folder / name);
    return result.ok() ? std::string() : result.status().ToString();
  };
  EXPECT_NE(error("a.ckpt", "").find("The file is empty."), std::string::npos);
  EXPECT_NE(error("a.ckpt", "").find("a.ckpt'"), std::string::npos);
  EXPECT_NE(error("a.ckpt", "PK\x03\x04xxxxxxxxxx").find("zip archive"), std::string::npos);
  EXPECT_NE(error("a.ckpt", "\xd8\x5e\x3a\x7fxxxxxxxxx").find("encrypted (AES-GCM)"), std::string::npos);
  EXPECT_NE(error("a.pt", "x").find(".ckpt or .safetensors"), std::string::npos);
  ASSERT_TRUE(SaveCheckpoint(ToCheckpoint(SomeState()), folder / "b.safetensors").ok());
  ASSERT_TRUE(SaveCheckpoint(ToCheckpoint(SomeState()), folder / "b.ckpt").ok());
  EXPECT_NE(error("c.ckpt", ReadFile(folder / "b.safetensors")).find("Rename the file"), std::string::npos);
  EXPECT_NE(error("c.safetensors", ReadFile(folder / "b.ckpt")).find("Rename the file"), std::string::npos);
  EXPECT_EQ(LoadCheckpoint(folder / "none.ckpt").status().code(), Code::kNotFound);
}

TEST(Checkpoint, AFullDiskLeavesTheOldFile) {
  TempFolder folder;
  ASSERT_TRUE(SaveCheckpoint(ToCheckpoint(SomeState()), folder / "a.ckpt").ok());
  const std::string before = ReadFile(folder / "a.ckpt");
  const pid_t child = fork();
  if (child == 0) {
    const rlimit limit = {200000, 200000};
    setrlimit(RLIMIT_FSIZE, &limit);
    Checkpoint big;
    big.Add("w", Tensor(DType::kF32, Shape{1000000}));
    const Status status = SaveCheckpoint(big, folder / "a.ckpt");
    const std::string text = status.ToString();
    _exit(status.code() == Code::kResourceExhausted && text.find("a.ckpt' failed") != std::string::npos ? 0 : 1);
  }
  int result = -1;
  waitpid(child, &result, 0);
  EXPECT_EQ(result, 0);
  EXPECT_EQ(ReadFile(folder / "a.ckpt"), before);
  EXPECT_EQ(CountFiles(folder.path()), 1);
}

TEST(WeightsSha256, IsOverNamesAndValuesInOrderOfNames) {
  const NamedTensor a = {"a", Tensor::Of<float>(Shape{1}, {1.0F})};
  const NamedTensor b = {"b", Tensor::Of<float>(Shape{1}, {2.0F})};
  const std::vector<NamedTensor> one = {a, b};
  const std::vector<NamedTensor> other = {b, a};
  EXPECT_EQ(WeightsSha256(one), WeightsSha256(other));
  // sha256 of 61 00 00 00 80 3f 62 00 00 00 00 40
  EXPECT_EQ(WeightsSha256(one), "3fde66ef97f0c9fadc9140ea5e305d2e053d580dac84ce7aae67c4d31f5197c6");
}

}  // namespace
}  // namespace tenon
