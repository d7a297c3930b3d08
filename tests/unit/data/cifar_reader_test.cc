#include "core/data/cifar_reader.h"

#include <gtest/gtest.h>

#include "tests/unit/data/data_files.h"

namespace tenon {
namespace {

using testing::Folder;
using testing::Gzip;

// A record whose pixels count up from `first`, modulo 256.
std::string Record(std::initializer_list<int> labels, int first) {
  std::string record = testing::Bytes(labels);
  for (int i = 0; i < 3072; ++i) record.push_back(static_cast<char>((first + i) & 255));
  return record;
}

void WriteTen(const Folder& folder) {
  for (int i = 1; i <= 5; ++i) {
    const std::string records = Record({i}, i) + Record({9 - i}, 2 * i);
    if (i == 3)
      folder.Write("data_batch_3.bin.gz", Gzip(records));
    else
      folder.Write("data_batch_" + std::to_string(i) + ".bin", records);
  }
  folder.Write("test_batch.bin", Record({7}, 0));
}

std::string ReadError(const std::string& bytes, CifarKind kind = CifarKind::kCifar10) {
  auto reader = ByteReader::FromMemory("batch", std::as_bytes(std::span(bytes)));
  const auto read = CifarDataset::Read(*reader, kind);
  return read.ok() ? "" : read.status().ToString();
}

TEST(Cifar, TenClassesFromFiveFiles) {
  const Folder folder;
  WriteTen(folder);
  const auto files = FindCifarFiles(folder.path(), "cifar", CifarPart::kTrain);
  ASSERT_TRUE(files.ok()) << files.status().ToString();
  const auto data = CifarDataset::Open(*files);
  ASSERT_TRUE(data.ok()) << data.status().ToString();
  EXPECT_EQ((*data)->size(), 10);
  EXPECT_EQ((*data)->classes(), 10);
  EXPECT_EQ((*data)->layout().shape, (Shape{3, 32, 32}));
  std::vector<std::uint8_t> pixels(2 * 3072);
  std::vector<std::int64_t> labels(2);
  ASSERT_TRUE((*data)->ReadBatch(std::vector<std::int64_t>{5, 0}, pixels.data(), labels.data()).ok());
  EXPECT_EQ(labels, (std::vector<std::int64_t>{6, 1}));
  EXPECT_EQ(pixels[0], 6);
  EXPECT_EQ(pixels[3072 + 1], 2);
  EXPECT_EQ((*data)->Place(3), folder.Path("data_batch_2.bin") + ": record 1 at byte 3073");
  EXPECT_EQ(FindCifarFiles(folder.path(), "cifar10", CifarPart::kTest)->paths.size(), 1u);
}

TEST(Cifar, AHundredClassesHaveTheFineLabel) {
  const Folder folder;
  folder.Write("train.bin", Record({3, 99}, 0) + Record({19, 42}, 1));
  const auto files = FindCifarFiles(folder.path(), "cifar", CifarPart::kTrain);
  ASSERT_TRUE(files.ok()) << files.status().ToString();
  EXPECT_EQ(files->kind, CifarKind::kCifar100);
  const auto data = CifarDataset::Open(*files);
  ASSERT_TRUE(data.ok()) << data.status().ToString();
  std::vector<std::int64_t> labels(2);
  ASSERT_TRUE((*data)->ReadBatch(std::vector<std::int64_t>{0, 1}, nullptr, labels.data()).ok());
  EXPECT_EQ(labels, (std::vector<std::int64_t>{99, 42}));
  EXPECT_EQ((*data)->classes(), 100);
  EXPECT_TRUE(FindCifarFiles(folder.path(), "cifar100", CifarPart::kTest)->paths.empty());
}

TEST(Cifar, DamagedFilesAreNamed) {
  EXPECT_EQ(ReadError(""), "batch: error: The file is empty.");
  EXPECT_EQ(
      ReadError(Record({1}, 0) + Record({2}, 0).substr(0, 3000)),
      "batch: error: The file is cut short or is not CIFAR-10: 6073 bytes are 1 records of 3073 bytes, and 3000 bytes "
      "are left.");
  EXPECT_EQ(ReadError(Record({1}, 0) + Record({10}, 0)),
            "batch: error: The label of record 1 (byte 3073) is 10; CIFAR-10 has the labels 0 to 9.");
  EXPECT_EQ(ReadError(Record({1, 100}, 0), CifarKind::kCifar100),
            "batch: error: The label of record 0 (byte 1) is 100; CIFAR-100 has the labels 0 to 99.");
}

std::string FindError(const std::string& folder, const std::string& type = "cifar") {
  const auto files = FindCifarFiles(folder, type, CifarPart::kTrain);
  return files.ok() ? "" : files.status().ToString();
}

TEST(Cifar, WrongFoldersGetAdvice) {
  const Folder folder;
  const std::string archive = folder.Write("cifar-10-binary.tar.gz", Gzip("x"));
  EXPECT_EQ(FindError(archive), archive +
                                    ": error: This is an archive; a folder is needed here. Unpack it (tar xf "
                                    "cifar-10-binary.tar.gz) and name the folder that comes out.");
  EXPECT_EQ(FindError(folder.Path("no")), folder.Path("no") + ": error: The folder does not exist.");
  folder.Write("data_batch_1", "x");
  EXPECT_EQ(
      FindError(folder.path()),
      folder.path() +
          ": error: The folder has neither 'data_batch_1.bin' (CIFAR-10) nor 'train.bin' (CIFAR-100), plain or .gz. "
          "The files in it are those for Python; the binary version is needed.");
  const Folder two;
  WriteTen(two);
  two.Write("train.bin", Record({3, 99}, 0));
  EXPECT_EQ(FindError(two.path()),
            two.path() +
                ": error: The folder has files of CIFAR-10 and of CIFAR-100; the type cifar10 or "
                "cifar100 says which.");
  EXPECT_EQ(FindError(two.path(), "cifar100"), "");
  std::filesystem::remove(two.Path("data_batch_4.bin"));
  EXPECT_EQ(FindError(two.path(), "cifar10"),
            two.path() +
                ": error: The folder has no file 'data_batch_4.bin' or 'data_batch_4.bin.gz', which belongs to "
                "CIFAR-10.");
}

}  // namespace
}  // namespace tenon
