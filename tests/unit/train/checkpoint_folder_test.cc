#include "core/train/checkpoint_folder.h"

#include <gtest/gtest.h>

#include "core/base/log.h"
#include "tests/support/temp_folder.h"

namespace tenon {
namespace {

using testing_support::CountFiles;
using testing_support::ReadFile;
using testing_support::TempFolder;
using testing_support::WriteFile;

RunState At(std::int64_t epoch, std::int64_t step) {
  RunState state;
  state.parameters.push_back({"w", Tensor::Scalar<float>(static_cast<float>(epoch))});
  state.epoch = epoch;
  state.step_in_epoch = step;
  state.global_step = epoch * 100 + step;
  return state;
}

std::vector<std::string> Names(const CheckpointFolder& checkpoints) {
  std::vector<std::string> names;
  for (const CheckpointFile& file : checkpoints.List()) names.push_back(file.path.substr(file.path.rfind('/') + 1));
  return names;
}

TEST(CheckpointFolder, NamesAndRetention) {
  TempFolder folder;
  const CheckpointFolder checkpoints(folder / "new/checkpoints", "net", CheckpointFormat::kCkpt, 3);
  const CheckpointFolder others(folder / "new/checkpoints", "net-2", CheckpointFormat::kCkpt, 3);
  ASSERT_TRUE(others.Save(At(1, 1)).ok());
  for (const std::int64_t epoch : {1, 2, 9, 10, 11}) {
    const auto path = checkpoints.Save(At(epoch, 40));
    ASSERT_TRUE(path.ok()) << path.status().ToString();
    EXPECT_EQ(*path, folder / ("new/checkpoints/net-" + std::to_string(epoch) + "_40.ckpt"));
  }
  EXPECT_EQ(Names(checkpoints), (std::vector<std::string>{"net-9_40.ckpt", "net-10_40.ckpt", "net-11_40.ckpt"}));
  EXPECT_EQ(Names(others), (std::vector<std::string>{"net-2-1_1.ckpt"}));
  // The file just saved stays, also when files of a later position are there.
  ASSERT_TRUE(checkpoints.Save(At(3, 1)).ok());
  EXPECT_EQ(Names(checkpoints), (std::vector<std::string>{"net-3_1.ckpt", "net-10_40.ckpt", "net-11_40.ckpt"}));
  EXPECT_EQ(CountFiles(folder / "new/checkpoints"), 4);
}

TEST(CheckpointFolder, OtherFilesStay) {
  TempFolder folder;
  const CheckpointFolder checkpoints(folder.path(), "net", CheckpointFormat::kSafetensors, 1);
  for (const char* name :
       {"net-best.ckpt", "net-1_2.txt", "net-x_1.ckpt", "other-1_1.ckpt", "net-1_2_3.ckpt", "net-1.ckpt"}) {
    WriteFile(folder / name, "x");
  }
  ASSERT_TRUE(checkpoints.Save(At(1, 1)).ok());
  ASSERT_TRUE(checkpoints.Save(At(1, 2)).ok());
  EXPECT_EQ(Names(checkpoints), (std::vector<std::string>{"net-1_2.safetensors"}));
  EXPECT_EQ(CountFiles(folder.path()), 7);
}

TEST(CheckpointFolder, LatestSkipsDamagedFiles) {
  TempFolder folder;
  const CheckpointFolder checkpoints(folder.path(), "net", CheckpointFormat::kCkpt, 0);
  ASSERT_EQ(checkpoints.FindLatest().status().code(), Code::kNotFound);
  for (const std::int64_t epoch : {1, 2, 3}) ASSERT_TRUE(checkpoints.Save(At(epoch, 5)).ok());
  std::string bytes = ReadFile(folder / "net-3_5.ckpt");
  bytes[4] = static_cast<char>(bytes[4] ^ 1);
  WriteFile(folder / "net-3_5.ckpt", bytes);
  WriteFile(folder / "net-4_5.ckpt", "");
  testing::internal::CaptureStderr();
  const auto found = checkpoints.FindLatest();
  FlushLog();
  const std::string log = testing::internal::GetCapturedStderr();
  ASSERT_TRUE(found.ok()) << found.status().ToString();
  EXPECT_EQ(found->file.epoch, 2);
  EXPECT_EQ(*found->checkpoint.Find("w")->data<float>(), 2.0F);
  EXPECT_NE(log.find("net-4_5.ckpt' is skipped: The file is empty."), std::string::npos) << log;
  EXPECT_NE(log.find("net-3_5.ckpt' is skipped: The checksum is wrong"), std::string::npos) << log;
}

TEST(CheckpointFolder, AFolderThatCannotBeMade) {
  TempFolder folder;
  WriteFile(folder / "file", "x");
  const CheckpointFolder checkpoints(folder / "file/checkpoints", "net", CheckpointFormat::kCkpt, 0);
  const auto result = checkpoints.Save(At(1, 1));
  ASSERT_FALSE(result.ok());
  EXPECT_NE(result.status().message().find("file/checkpoints"), std::string::npos);
}

}  // namespace
}  // namespace tenon
