#include "core/data/byte_reader.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/unit/data/data_files.h"

namespace tenon {
namespace {

using testing::Folder;
using testing::Gzip;

std::string Contents() {
  std::string text;
  for (int i = 0; i < 200000; ++i) text += std::to_string(i * 7919 % 10007) + ",";
  return text;
}

Result<std::string> ReadAll(const std::string& path, std::int64_t step) {
  TENON_ASSIGN(ByteReader reader, ByteReader::Open(path));
  std::string all;
  std::string part(static_cast<std::size_t>(step), '\0');
  while (true) {
    TENON_ASSIGN(const std::int64_t got, reader.Read(part.data(), step));
    all.append(part, 0, static_cast<std::size_t>(got));
    if (got < step) break;
  }
  EXPECT_EQ(reader.position(), static_cast<std::int64_t>(all.size()));
  TENON_TRY(reader.ExpectEnd());
  return all;
}

TEST(ByteReader, GivesPlainAndPackedContentsInPiecesOfAnySize) {
  const Folder folder;
  const std::string text = Contents();
  const std::string plain = folder.Write("a.bin", text);
  const std::string packed = folder.Write("a.bin.gz", Gzip(text));
  const std::string unnamed = folder.Write("packed", Gzip(text));
  const std::string two =
      folder.Write("two.gz", Gzip(text.substr(0, 1000)) + Gzip(text.substr(1000)) + std::string(700000, '\0'));
  for (const std::string& path : {plain, packed, unnamed, two}) {
    for (const std::int64_t step : {1000, 65536, 3000000}) {
      const auto all = ReadAll(path, step);
      ASSERT_TRUE(all.ok()) << all.status().ToString();
      EXPECT_EQ(*all, text);
    }
  }
}

TEST(ByteReader, EmptyFilesEndAtOnce) {
  const Folder folder;
  EXPECT_EQ(ReadAll(folder.Write("empty", ""), 10).value(), "");
  EXPECT_EQ(ReadAll(folder.Write("one", "x"), 10).value(), "x");
  EXPECT_EQ(ReadAll(folder.Write("empty.gz", Gzip("")), 10).value(), "");
}

void ExpectError(const std::string& path, Code code, const std::string& text) {
  const auto all = ReadAll(path, 4096);
  ASSERT_FALSE(all.ok()) << path;
  EXPECT_EQ(all.status().code(), code);
  EXPECT_EQ(all.status().ToString(), path + ": error: " + text);
}

TEST(ByteReader, SaysWhatIsWrongWithAFile) {
  const Folder folder;
  ExpectError(folder.Path("missing.bin"), Code::kNotFound, "The file does not exist.");
  ExpectError(folder.path(), Code::kInvalidArgument, "This is a folder; a file is needed here.");
  ExpectError("/dev/null", Code::kInvalidArgument, "This is not a regular file.");
  ExpectError(folder.Write("empty.gz", ""), Code::kDataLoss, "The file is empty; a gzip file is needed.");
  ExpectError(folder.Write("plain.gz", "hello"), Code::kInvalidArgument,
              "This is not a gzip file: it starts with the bytes 68 65, expected 1f 8b.");
}

TEST(ByteReader, SeesCutAndDamagedGzipData) {
  const Folder folder;
  const std::string text = Contents();
  const std::string packed = Gzip(text);
  const std::string half = packed.substr(0, packed.size() * 7 / 10);
  auto all = ReadAll(folder.Write("cut.gz", half), 4096);
  ASSERT_FALSE(all.ok());
  EXPECT_EQ(all.status().code(), Code::kDataLoss);
  EXPECT_EQ(all.status().message().find("The file is cut short: its " + std::to_string(half.size()) +
                                        " bytes end in the middle of the gzip data, after "),
            0u)
      << all.status().ToString();

  // Cut inside the checksum: all values are there, and still the file is refused.
  all = ReadAll(folder.Write("cut8.gz", packed.substr(0, packed.size() - 3)), 4096);
  ASSERT_FALSE(all.ok());
  EXPECT_NE(all.status().message().find("after " + std::to_string(text.size()) + " unpacked bytes."),
            std::string::npos);

  std::string flipped = packed;
  flipped[flipped.size() - 7] = static_cast<char>(flipped[flipped.size() - 7] ^ 1);
  all = ReadAll(folder.Write("crc.gz", flipped), 4096);
  ASSERT_FALSE(all.ok());
  EXPECT_NE(all.status().message().find("(incorrect data check)"), std::string::npos) << all.status().ToString();

  all = ReadAll(folder.Write("more.gz", packed + "xyz"), 4096);
  ASSERT_FALSE(all.ok());
  EXPECT_EQ(all.status().message(),
            "Bytes that are not gzip data follow its end (at byte " + std::to_string(packed.size()) + " of the file).");
}

}  // namespace
}  // namespace tenon
