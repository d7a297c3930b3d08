#include "core/data/idx_reader.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/unit/data/data_files.h"

namespace tenon {
namespace {

using testing::Bytes;
using testing::Folder;
using testing::Gzip;
using testing::Idx;

const std::string kImages = Idx(8, {3, 2, 2}, Bytes({1, 2, 3, 4, 5, 6, 7, 8, 255, 0, 9, 10}));
const std::string kLabels = Idx(8, {3}, Bytes({7, 0, 2}));

TEST(Idx, ReadsImagesAndLabels) {
  const Folder folder;
  for (const bool packed : {false, true}) {
    const std::string images = folder.Write(packed ? "i.gz" : "i", packed ? Gzip(kImages) : kImages);
    const std::string labels = folder.Write(packed ? "l.gz" : "l", packed ? Gzip(kLabels) : kLabels);
    const auto dataset = OpenIdx(images, labels);
    ASSERT_TRUE(dataset.ok()) << dataset.status().ToString();
    const Dataset& data = **dataset;
    EXPECT_EQ(data.size(), 3);
    EXPECT_EQ(data.classes(), 8);
    EXPECT_EQ(data.layout().shape, (Shape{1, 2, 2}));
    EXPECT_EQ(data.layout().dtype, DType::kU8);
    const std::vector<std::int64_t> indices = {2, 0};
    std::vector<unsigned char> samples(8);
    std::vector<std::int64_t> values(2);
    ASSERT_TRUE(data.ReadBatch(indices, samples.data(), values.data()).ok());
    EXPECT_EQ(samples, (std::vector<unsigned char>{255, 0, 9, 10, 1, 2, 3, 4}));
    EXPECT_EQ(values, (std::vector<std::int64_t>{2, 7}));
    EXPECT_EQ(data.Place(2), labels + ": record 2 at byte 10");
    EXPECT_EQ(data.description(), "idx " + images);
  }
}

TEST(Idx, ReadsTheWiderTypes) {
  const auto read = [](const std::string& bytes) {
    auto reader = ByteReader::FromMemory("memory", std::as_bytes(std::span(bytes.data(), bytes.size())));
    return ReadIdx(*reader);
  };
  EXPECT_EQ(read(Idx(0x09, {1}, Bytes({0xfe})))->values.data<std::int8_t>()[0], -2);
  EXPECT_EQ(read(Idx(0x0b, {1}, Bytes({0xff, 0xfe})))->values.data<std::int16_t>()[0], -2);
  EXPECT_EQ(read(Idx(0x0c, {2}, Bytes({0, 1, 0, 2, 0, 0, 0, 5})))->values.data<std::int32_t>()[0], 65538);
  EXPECT_EQ(read(Idx(0x0d, {1}, Bytes({0x3f, 0xc0, 0, 0})))->values.data<float>()[0], 1.5f);
  EXPECT_EQ(read(Idx(0x0e, {1}, Bytes({0x3f, 0xf8, 0, 0, 0, 0, 0, 0})))->values.data<double>()[0], 1.5);
}

void ExpectError(const std::string& images, const std::string& labels, const std::string& text) {
  const auto dataset = OpenIdx(images, labels);
  ASSERT_FALSE(dataset.ok());
  EXPECT_EQ(dataset.status().ToString(), text);
}

TEST(Idx, RefusesBrokenFiles) {
  const Folder folder;
  const std::string images = folder.Write("images", kImages);
  const std::string labels = folder.Write("labels", kLabels);

  std::string bad = folder.Write("magic", Bytes({0x50, 0x4b, 3, 4, 0, 0, 0, 0}));
  ExpectError(bad, labels,
              bad +
                  ": error: This is not an IDX file: its magic number is 0x504b0304, expected 0x0000TTRR with type TT "
                  "08, 09, 0b, 0c, 0d "
                  "or 0e and rank RR 01 to 08 (images of MNIST: 0x00000803, labels: 0x00000801).");
  bad = folder.Write("short_magic", Bytes({0, 0, 8}));
  ExpectError(
      bad, labels,
      bad + ": error: The file is cut short: the magic number needs 4 bytes from byte 0 on, but only 3 follow.");
  bad = folder.Write("short_dims", kImages.substr(0, 13));
  ExpectError(
      bad, labels,
      bad + ": error: The file is cut short: the list of dimensions needs 12 bytes from byte 4 on, but only 9 follow.");
  bad = folder.Write("short", kImages.substr(0, 20));
  ExpectError(bad, labels,
              bad +
                  ": error: The file is cut short: shape [3,2,2] takes 12 values of 1 bytes each from byte 16 on, but "
                  "only 4 bytes follow.");
  bad = folder.Write("short.gz", Gzip(kImages.substr(0, 20)));
  ExpectError(bad, labels,
              bad +
                  ": error: The file is cut short: the data of shape [3,2,2] needs 12 bytes from byte 16 on, but only "
                  "4 follow.");
  bad = folder.Write("long", kImages + "x");
  ExpectError(bad, labels, bad + ": error: The file is longer than its header says: it should end after 28 bytes.");
  bad = folder.Write("huge.gz", Gzip(Idx(8, {0xffffffffu, 0xffffu, 0xffu}, "")));
  auto huge = OpenIdx(bad, labels);
  ASSERT_FALSE(huge.ok());
  EXPECT_NE(huge.status().message().find("from byte 16 on, but no more than "), std::string::npos)
      << huge.status().ToString();
  bad = folder.Write("wide", Idx(0x0e, {0xffffffffu, 0x3fffffffu}, ""));
  ExpectError(bad, labels,
              bad +
                  ": error: The file is cut short: shape [4294967295,1073741823] takes 4611686013058678785 values of 8 "
                  "bytes each from byte 12 "
                  "on, but only 0 bytes follow.");
  bad = folder.Write("overflow", Idx(8, {0xffffffffu, 0xffffffffu, 0xffffffffu}, ""));
  EXPECT_FALSE(OpenIdx(bad, labels).ok());

  ExpectError(labels, labels,
              labels + ": error: Samples need rank 2 or more (images of MNIST: 0x00000803); this file holds uint8[3].");
  ExpectError(
      images, images,
      images + ": error: Labels are integers of rank 1 (magic number 0x00000801); this file holds uint8[3,2,2].");
  bad = folder.Write("two", Idx(8, {2}, Bytes({1, 2})));
  ExpectError(images, bad, images + ": error: This file holds 3 samples, but '" + bad + "' holds 2 labels.");
  bad = folder.Write("negative", Idx(9, {3}, Bytes({1, 0xff, 2})));
  ExpectError(images, bad,
              bad + ": record 1 at byte 9: error: The label of sample 1 is -1, but class labels start at 0.");
  bad = folder.Write("none_l", Idx(8, {0}, ""));
  ExpectError(folder.Write("none_i", Idx(8, {0, 2, 2}, "")), bad, bad + ": error: There are no samples in it.");
}

TEST(Idx, LabelsBeyondTheClassesNameTheSample) {
  const Folder folder;
  const std::string labels = folder.Write("labels", kLabels);
  const auto dataset = OpenIdx(folder.Write("images", kImages), labels);
  ASSERT_TRUE(dataset.ok());
  EXPECT_TRUE(CheckLabels(**dataset, 8).ok());
  EXPECT_EQ(
      CheckLabels(**dataset, 7).ToString(),
      labels +
          ": record 0 at byte 8: error: The label of sample 0 is 7, but with 7 classes it must be between 0 and 6.");
}

TEST(Idx, FindsTheUsualNames) {
  const Folder folder;
  auto train = FindIdxFiles(folder.path(), IdxPart::kTrain);
  EXPECT_EQ(
      train.status().ToString(),
      folder.path() + ": error: The folder has no file 'train-images-idx3-ubyte' or 'train-images-idx3-ubyte.gz'.");
  EXPECT_FALSE(FindIdxFiles(folder.path(), IdxPart::kTest)->has_value());
  folder.Write("train-images-idx3-ubyte.gz", "");
  EXPECT_EQ(FindIdxFiles(folder.path(), IdxPart::kTrain).status().message(),
            "The folder has no file 'train-labels-idx1-ubyte' or 'train-labels-idx1-ubyte.gz'.");
  folder.Write("train-labels.idx1-ubyte", "");
  train = FindIdxFiles(folder.path(), IdxPart::kTrain);
  ASSERT_TRUE(train.ok());
  EXPECT_EQ((*train)->images, folder.Path("train-images-idx3-ubyte.gz"));
  EXPECT_EQ((*train)->labels, folder.Path("train-labels.idx1-ubyte"));
  folder.Write("t10k-labels-idx1-ubyte", "");
  EXPECT_EQ(FindIdxFiles(folder.path(), IdxPart::kTest).status().message(),
            "The folder has no file 't10k-images-idx3-ubyte' or 't10k-images-idx3-ubyte.gz'.");
  EXPECT_EQ(FindIdxFiles(folder.Path("nowhere"), IdxPart::kTrain).status().message(), "The folder does not exist.");
  EXPECT_EQ(FindIdxFiles(folder.Path("t10k-labels-idx1-ubyte"), IdxPart::kTrain).status().message(),
            "This is a file; a folder with IDX files is needed here.");
}

}  // namespace
}  // namespace tenon
