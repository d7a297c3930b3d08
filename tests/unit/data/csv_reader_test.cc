#include "core/data/csv_reader.h"

#include <gtest/gtest.h>

#include <numeric>
#include <string>

#include "tests/unit/data/data_files.h"

namespace tenon {
namespace {

using testing::Folder;
using testing::Gzip;

Result<std::unique_ptr<MemoryDataset>> Parse(const std::string& text, LabelKind label = LabelKind::kClass) {
  TENON_ASSIGN(ByteReader reader, ByteReader::FromMemory("a.csv", std::as_bytes(std::span(text.data(), text.size()))));
  return ReadCsv(reader, {',', label});
}

std::vector<float> Samples(const Dataset& data) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(data.size()));
  std::iota(all.begin(), all.end(), 0);
  std::vector<float> values(static_cast<std::size_t>(data.size() * data.layout().shape.elements()));
  EXPECT_TRUE(data.ReadBatch(all, values.data(), nullptr).ok());
  return values;
}

TEST(Csv, ReadsRowsOfNumbersWithTheLabelLast) {
  const auto data = Parse("1,2.5,0\r\n -3 ,1e2,\t2\n.5,-0.0,1.0e0\n\n  \n");
  ASSERT_TRUE(data.ok()) << data.status().ToString();
  EXPECT_EQ((*data)->size(), 3);
  EXPECT_EQ((*data)->classes(), 3);
  EXPECT_EQ((*data)->layout().shape, (Shape{2}));
  EXPECT_EQ(Samples(**data), (std::vector<float>{1, 2.5f, -3, 100, 0.5f, 0}));
  std::vector<std::int64_t> labels(2);
  ASSERT_TRUE((*data)->ReadBatch(std::vector<std::int64_t>{2, 1}, nullptr, labels.data()).ok());
  EXPECT_EQ(labels, (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ((*data)->Place(1), "a.csv:2");
}

TEST(Csv, PassesOverAHeaderAndSaysSo) {
  const auto data = Parse("\xef\xbb\xbfwidth,height,class\n1,2,0\n3,4,1");
  ASSERT_TRUE(data.ok()) << data.status().ToString();
  EXPECT_EQ((*data)->size(), 2);
  EXPECT_EQ((*data)->description(), "csv a.csv (header passed over)");
  EXPECT_EQ((*data)->Place(0), "a.csv:2");
}

TEST(Csv, LabelsCanBeValues) {
  const auto data = Parse("1,-2.5\n2,3\n", LabelKind::kValue);
  ASSERT_TRUE(data.ok()) << data.status().ToString();
  EXPECT_EQ((*data)->layout().label_dtype, DType::kF32);
  EXPECT_EQ((*data)->classes(), 0);
  std::vector<float> labels(2);
  ASSERT_TRUE((*data)->ReadBatch(std::vector<std::int64_t>{0, 1}, nullptr, labels.data()).ok());
  EXPECT_EQ(labels, (std::vector<float>{-2.5f, 3}));
  EXPECT_TRUE(CheckLabels(**data, 1).ok());
}

void ExpectError(const std::string& text, const std::string& error) {
  const auto data = Parse(text);
  ASSERT_FALSE(data.ok()) << text;
  EXPECT_EQ(data.status().ToString(), error);
}

TEST(Csv, ErrorsNameLineAndColumn) {
  ExpectError("", "a.csv: error: There are no rows of numbers in it.");
  ExpectError("a,b\n", "a.csv: error: There are no rows of numbers in it.");
  ExpectError("1,2\n1,x,2\n", "a.csv:2:3: error: 'x' is not a number.");
  ExpectError("1,2\n1,0x10,2\n", "a.csv:2:3: error: '0x10' is not a number.");
  ExpectError("1,2\n+1,2\n", "a.csv:2:1: error: '+1' is not a number.");
  ExpectError("1,2\n1 000,2\n", "a.csv:2:1: error: '1 000' is not a number.");
  ExpectError("1,2\n1.5abc,2\n", "a.csv:2:1: error: '1.5abc' is not a number.");
  ExpectError("1,2\n\"1\",2\n", "a.csv:2:1: error: '\"1\"' is not a number.");
  ExpectError(
      "1,b,3\n1,2,3\n",
      "a.csv:1:3: error: 'b' is not a number. (A header is recognised only when none of its columns is a number.)");
  ExpectError("1,,3\n", "a.csv:1:3: error: A number is missing here.");
  ExpectError("1,3,\n", "a.csv:1:5: error: A number is missing here.");
  ExpectError("1,nan,3\n", "a.csv:1:3: error: The value 'nan' is not a finite number.");
  ExpectError("inf,1,3\n", "a.csv:1:1: error: The value 'inf' is not a finite number.");
  ExpectError("1e39,1,3\n", "a.csv:1:1: error: The number '1e39' is beyond the range of float32.");
  ExpectError("1e999,1,3\n", "a.csv:1:1: error: The number '1e999' is beyond the range of float32.");
  ExpectError("1,2,3\n1,2\n", "a.csv:2: error: The row has 2 columns, but row 1 (line 1) has 3.");
  ExpectError("1,2,3\n1,2,3,4\n", "a.csv:2: error: The row has 4 columns, but row 1 (line 1) has 3.");
  ExpectError("1\n",
              "a.csv:1:1: error: The row has 1 column; at least one value and a label, separated by ',', are needed.");
  ExpectError("1,2\n\n3,4\n", "a.csv:2: error: The line is empty, but rows follow it.");
  ExpectError("1,2\n3,-1\n", "a.csv:2:3: error: The label of sample 1 is -1, but class labels start at 0.");
  ExpectError("1,2\n3,1.5\n", "a.csv:2:3: error: The label '1.5' in the last column is not a class number.");
}

TEST(Csv, LabelsBeyondTheClassesNameLineAndSample) {
  const auto data = Parse("f,label\n1,2\n3,9\n");
  ASSERT_TRUE(data.ok());
  EXPECT_EQ(CheckLabels(**data, 9).ToString(),
            "a.csv:3: error: The label of sample 1 is 9, but with 9 classes it must be between 0 and 8.");
}

TEST(Csv, LinesLongerThanTheBufferAndManyRows) {
  std::string row;
  for (int i = 0; i < 200000; ++i) row += std::to_string(i % 17) + ",";
  const auto wide = Parse(row + "1\n" + row + "2");
  ASSERT_TRUE(wide.ok()) << wide.status().ToString();
  EXPECT_EQ((*wide)->layout().shape, (Shape{200000}));
  EXPECT_EQ(Samples(**wide)[200016], 16.0f);
  std::string rows;
  for (int i = 0; i < 100000; ++i) rows += std::to_string(i) + ",1\n";
  const auto tall = Parse(rows);
  ASSERT_TRUE(tall.ok());
  EXPECT_EQ((*tall)->size(), 100000);
  EXPECT_EQ(Samples(**tall)[99999], 99999.0f);
}

TEST(Csv, ReadsTheDigitsOfTheRepository) {
  const std::string path = std::string(TENON_SOURCE_DIR) + "/data/optdigits.csv.gz";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "no " << path;
  const auto data = OpenCsv(path, {});
  ASSERT_TRUE(data.ok()) << data.status().ToString();
  EXPECT_EQ((*data)->size(), 1797);
  EXPECT_EQ((*data)->classes(), 10);
  EXPECT_EQ((*data)->layout().shape, (Shape{64}));
  EXPECT_EQ((*data)->Place(1796), path + ":1797");
}

TEST(Csv, CutGzipFilesAreRefused) {
  const Folder folder;
  std::string rows;
  for (int i = 0; i < 5000; ++i) rows += std::to_string(i * 31 % 977) + ",1\n";
  const std::string packed = Gzip(rows);
  const std::string path = folder.Write("cut.csv.gz", packed.substr(0, packed.size() * 7 / 10));
  const auto data = OpenCsv(path, {});
  ASSERT_FALSE(data.ok());
  EXPECT_EQ(data.status().code(), Code::kDataLoss);
  EXPECT_EQ(data.status().location(), path);
}

}  // namespace
}  // namespace tenon
