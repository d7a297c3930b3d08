#include "core/data/token_text.h"

#include <gtest/gtest.h>

#include "core/data/open_text.h"
#include "core/data/text_dataset.h"
#include "core/data/utf8.h"
#include "tests/unit/data/data_files.h"

namespace tenon {
namespace {

using testing::Folder;
using Tokens = std::vector<std::int64_t>;

std::span<const unsigned char> Bytes(const std::string& text) {
  return {reinterpret_cast<const unsigned char*>(text.data()), text.size()};
}

std::string Utf8Error(const std::string& text) {
  std::vector<std::uint32_t> points;
  return AddCodePoints("t.txt", Bytes(text), &points).ToString();
}

// The examples of the Unicode standard, table 3-7, and what lies beside each row of it.
TEST(Utf8, TakesWellFormedTextAlone) {
  const std::string fine = "\x7f\xc2\x80\xdf\xbf\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80\xf0\x90\x80\x80\xf4\x8f\xbf\xbf";
  std::vector<std::uint32_t> points;
  ASSERT_TRUE(AddCodePoints("t", Bytes(fine), &points).ok());
  EXPECT_EQ(points, (std::vector<std::uint32_t>{0x7f, 0x80, 0x7ff, 0x800, 0xd7ff, 0xe000, 0x10000, 0x10ffff}));
  for (const char* bad : {"\x80", "\xc1\xbf", "\xe0\x9f\xbf", "\xed\xa0\x80", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80",
                          "\xf5\x80\x80\x80", "\xc3", "\xe2\x82", "\xe2(\xa1"}) {
    EXPECT_NE(Utf8Error(std::string("ab") + bad).find("at byte 2 "), std::string::npos) << Utf8Error(bad);
  }
  EXPECT_EQ(Utf8Error("one\ntwo\xff!"),
            "t.txt: error: The text is not UTF-8: at byte 7 (line 2) it has ff 21. 'tokens: bytes' takes any file.");
}

TEST(Vocabulary, KeepsItsText) {
  const auto made = Vocabulary::OfCharacters({'\n', 'a', 0x20ac});
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(made->ToText(), "characters 3\nU+000A\nU+0061\nU+20AC\n");
  const auto read = Vocabulary::Parse(made->ToText(), "v");
  ASSERT_TRUE(read.ok()) << read.status().ToString();
  EXPECT_EQ(read->DifferenceTo(*made), "");
  EXPECT_EQ(read->Find(0x20ac), 2);
  EXPECT_EQ(read->Find('b'), std::nullopt);
  EXPECT_EQ(Vocabulary::Parse("bytes 256\n", "v")->DifferenceTo(Vocabulary::OfBytes()), "");
  EXPECT_EQ(Vocabulary::OfCharacters({'\n', 'b'})->DifferenceTo(*made),
            "They have 2 and 3 characters; number 1 is 'b' (U+0062) in one and 'a' (U+0061) in the other.");
  EXPECT_EQ(Vocabulary::Parse("characters 2\nU+0061\nU+0061\n", "v").status().ToString(),
            "v:3: error: The line needs a code point above the one before it, as in U+0041, but is 'U+0061'.");
  EXPECT_FALSE(Vocabulary::Parse("characters 3\nU+0061\n", "v").ok());
  EXPECT_FALSE(Vocabulary::Parse("", "v").ok());
}

DataConfig TextConfig(const std::string& path, std::int64_t length) {
  DataConfig config;
  config.type = "text";
  config.path.text = path;
  config.path.resolved = path;
  config.tokens = TokensConfig{.length = length};
  return config;
}

Tokens Read(const Dataset& data, std::int64_t index, bool labels) {
  Tokens out(static_cast<std::size_t>(data.layout().shape.dim(0)));
  EXPECT_TRUE(data.ReadBatch({&index, 1}, labels ? nullptr : out.data(), labels ? out.data() : nullptr).ok());
  return out;
}

TEST(Text, TheLastTenthIsForTesting) {
  const Folder folder;
  std::string text;
  for (int i = 0; i < 100; ++i) text += static_cast<char>('a' + i % 26);
  const std::string path = folder.Write("t.txt", text);
  DataConfig config = TextConfig(path, 4);
  auto parts = OpenTexts(config);
  ASSERT_TRUE(parts.ok()) << parts.status().ToString();
  EXPECT_EQ(parts->vocabulary->size(), 26);
  EXPECT_EQ(parts->train->size(), 22);  // (90 - 1) / 4
  EXPECT_EQ(Read(*parts->train, 21, false), (Tokens{6, 7, 8, 9}));
  EXPECT_EQ(Read(*parts->train, 21, true), (Tokens{7, 8, 9, 10}));
  EXPECT_EQ(parts->test->size(), 2);  // (10 - 1) / 4
  EXPECT_EQ(Read(*parts->test, 0, false), (Tokens{12, 13, 14, 15}));
  EXPECT_EQ(parts->train->Place(21), path + ": token 84");
  config.tokens->stride = 1;
  config.split.fraction = 0.5;
  parts = OpenTexts(config);
  ASSERT_TRUE(parts.ok());
  EXPECT_EQ(parts->train->size(), 46);  // starts 0 to 45, and one token behind
  EXPECT_EQ(parts->test->size(), 12);
  config.tokens->length = 60;
  EXPECT_EQ(OpenTexts(config).status().ToString(),
            path +
                ": error: The part of the text from token 0 on has 50 tokens; one sample of length 60 and the token "
                "behind it need 61.");
}

TEST(Text, AVocabularyOfAnotherRunIsUsedAsItIs) {
  const Folder folder;
  const std::string path = folder.Write("t.txt", "abcabcabcabcabcabcabcabcabcabcab\xe2\x82\xac");
  const std::string vocabulary =
      folder.Write("vocabulary.txt", Vocabulary::OfCharacters({'a', 'b', 'c', 'd'})->ToText());
  DataConfig config = TextConfig(path, 2);
  config.tokens->vocabulary.text = vocabulary;
  config.tokens->vocabulary.resolved = vocabulary;
  EXPECT_EQ(OpenTexts(config).status().ToString(),
            path +
                ": error: The character '\xe2\x82\xac' (U+20AC) at byte 32 (line 1) is not in the vocabulary of 4 "
                "characters.");
  folder.Write("t.txt", "abcabcabcabcabcabcabcabcabcabcab");
  const auto parts = OpenTexts(config);
  ASSERT_TRUE(parts.ok()) << parts.status().ToString();
  EXPECT_EQ(parts->train->classes(), 4);
}

TEST(Text, BytesTakeAnyFile) {
  const Folder folder;
  DataConfig config = TextConfig(folder.Write("t.bin.gz", testing::Gzip(std::string(40, '\xff') + "ab")), 3);
  config.tokens->unit = TextUnit::kBytes;
  const auto parts = OpenTexts(config);
  ASSERT_TRUE(parts.ok()) << parts.status().ToString();
  EXPECT_EQ(parts->train->classes(), 256);
  EXPECT_EQ(Read(*parts->train, 0, false), (Tokens{255, 255, 255}));
}

TEST(Text, LinesArePadded) {
  const Folder folder;
  DataConfig config = TextConfig(folder.Write("t.txt", "abc\n\na\nbb"), 5);
  config.tokens->lines = true;
  config.pad = PadConfig{.value = 1};
  const auto parts = OpenTexts(config);
  ASSERT_TRUE(parts.ok()) << parts.status().ToString();
  const Dataset& lines = *parts->train;
  EXPECT_EQ(lines.size(), 3);
  EXPECT_EQ(lines.Length(1), 1);
  EXPECT_EQ(Read(lines, 0, false), (Tokens{1, 2, 3}));
  EXPECT_EQ(Read(lines, 0, true), (Tokens{2, 3, 0}));
  EXPECT_EQ(Read(lines, 1, false), (Tokens{1, 1, 1}));
  EXPECT_EQ(Read(lines, 1, true), (Tokens{0, -100, -100}));
  EXPECT_EQ(Read(lines, 2, true), (Tokens{2, 0, -100}));
  EXPECT_EQ(lines.Place(2), folder.Path("t.txt") + ":4");
  EXPECT_NE(lines.description().find("1 empty ones left out"), std::string::npos) << lines.description();
  config.tokens->length = 2;
  EXPECT_EQ(OpenTexts(config).status().ToString(),
            folder.Path("t.txt") + ":1: error: The line has 3 tokens; 'tokens.length' allows 2.");
}

}  // namespace
}  // namespace tenon
