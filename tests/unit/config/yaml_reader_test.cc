#include "core/config/yaml_reader.h"

#include <gtest/gtest.h>

#include "core/config/yaml_writer.h"

namespace tenon {
namespace {

Result<ConfigNode> Read(std::string_view text) {
  return ReadYaml(text, std::make_shared<ConfigOrigin>(ConfigOrigin{"a.yaml", {}, true}));
}

std::string PlaceOfKey(const ConfigNode& root, std::string_view path) { return PlaceOf(root, path).ToString(); }

TEST(YamlReader, KeepsExactPlaces) {
  const auto root = Read("a: 1\nb:\n  c: \"x\"\n  d: [10, 20]\n  \xC3\xBC: {e: f}\n");
  ASSERT_TRUE(root.ok()) << root.status().ToString();
  EXPECT_EQ(PlaceOfKey(*root, "a"), "a.yaml:1:4");
  EXPECT_EQ(PlaceOfKey(*root, "b.c"), "a.yaml:3:6");
  EXPECT_EQ(PlaceOfKey(*root, "b.d.1"), "a.yaml:4:11");
  EXPECT_EQ(PlaceOfKey(*root, "b.\xC3\xBC.e"), "a.yaml:5:10");  // columns count characters
  EXPECT_EQ(PlaceOfKey(*root, "b.nowhere.x"), "a.yaml:3:3");
  EXPECT_EQ(root->FindEntry("b")->key_place.ToString(), "a.yaml:2:1");
}

// Places in a long line, which are counted in steps.
TEST(YamlReader, KeepsExactPlacesInALongLine) {
  std::string text = "a: [";
  for (int i = 0; i < 3000; ++i) text += "\xC3\xBC, ";
  const auto root = Read(text + "x]\nb: 1\n");
  ASSERT_TRUE(root.ok()) << root.status().ToString();
  for (const int i : {0, 1, 85, 86, 1023, 2999, 3000})
    EXPECT_EQ(PlaceOfKey(*root, "a." + std::to_string(i)), "a.yaml:1:" + std::to_string(5 + 3 * i));
  EXPECT_EQ(PlaceOfKey(*root, "b"), "a.yaml:2:4");
}

TEST(YamlReader, PlacesDoNotDependOnLineEndsOrByteOrderMark) {
  const auto root = Read(
      "\xEF\xBB\xBF"
      "a: 1\r\nb: {c: 2}\r\n");
  ASSERT_TRUE(root.ok()) << root.status().ToString();
  EXPECT_EQ(PlaceOfKey(*root, "a"), "a.yaml:1:4");
  EXPECT_EQ(PlaceOfKey(*root, "b.c"), "a.yaml:2:8");
  EXPECT_EQ(root->Find("a")->text(), "1");
}

TEST(YamlReader, EmptyValuesAreNothingAtTheirKey) {
  const auto root = Read("a:\nb: ~\nc: null\nd: ''\ne: {f, g: }\n");
  ASSERT_TRUE(root.ok()) << root.status().ToString();
  EXPECT_TRUE(root->Find("a")->is_null());
  EXPECT_EQ(PlaceOfKey(*root, "a"), "a.yaml:1:1");
  EXPECT_TRUE(root->Find("b")->is_null());
  EXPECT_TRUE(root->Find("c")->is_null());
  EXPECT_TRUE(root->Find("d")->is_scalar());
  EXPECT_TRUE(root->Find("e")->Find("f")->is_null());
}

TEST(YamlReader, TakesDirectKeysOverMergedOnes) {
  const auto root = Read(
      "base: &base {lr: 1, momentum: 2, betas: {x: 1}}\n"
      "other: &other {lr: 3, eps: 4}\n"
      "after:\n  lr: 5\n  <<: *base\n"
      "before:\n  <<: *base\n  lr: 6\n"
      "both:\n  <<: [*base, *other]\n");
  ASSERT_TRUE(root.ok()) << root.status().ToString();
  EXPECT_EQ(WriteFlowYaml(*root->Find("after")), "{lr: 5, momentum: 2, betas: {x: 1}}");
  EXPECT_EQ(WriteFlowYaml(*root->Find("before")), "{lr: 6, momentum: 2, betas: {x: 1}}");
  EXPECT_EQ(WriteFlowYaml(*root->Find("both")), "{lr: 1, momentum: 2, betas: {x: 1}, eps: 4}");
}

TEST(YamlReader, ReadsTheForms) {
  const auto root = Read("---\na: |\n  two\n  lines\nb: >-\n  one\n  line\nc:\n- 1\n-\n  - 2\n- {d: e}\n...\n");
  ASSERT_TRUE(root.ok()) << root.status().ToString();
  EXPECT_EQ(root->Find("a")->text(), "two\nlines\n");
  EXPECT_EQ(root->Find("b")->text(), "one line");
  EXPECT_EQ(WriteFlowYaml(*root->Find("c")), "[1, [2], {d: e}]");
}

TEST(YamlReader, QuotedMergeKeyIsAKey) {
  const auto root = Read("\"<<\": 3\n");
  ASSERT_TRUE(root.ok());
  EXPECT_EQ(root->Find("<<")->text(), "3");
}

TEST(YamlReader, ReportsEveryRepeatedKeyOnce) {
  const auto root = Read("a: 1\na: 2\nb: {c: 1, c: 2}\n");
  ASSERT_FALSE(root.ok());
  EXPECT_EQ(root.status().ToString(),
            "a.yaml:2:1: error: The key 'a' is repeated: it is already in line 1. Keep one of the two.\n"
            "a.yaml:3:11: error: The key 'c' is repeated: it is already in line 3. Keep one of the two.");
}

TEST(YamlReader, QuotesThatCloseAreFine) {
  for (const char* text :
       {"a: \"x\\\"y\"\n", "a: 'it''s'\n", "a: &n \"x\"\n", "a: \"\"\n", "a: \"x\n  y\"\n", "'a': 1\n"}) {
    EXPECT_TRUE(Read(text).ok()) << text << Read(text).status().ToString();
  }
}

TEST(YamlReader, FlowValuesLieWhereTheyWereGiven) {
  const Place place{std::make_shared<ConfigOrigin>(ConfigOrigin{"--set a=[1]", {}, false}), 0, 0};
  const auto value = ReadFlowYaml("[1, {b: 2}]", place);
  ASSERT_TRUE(value.ok());
  EXPECT_EQ(value->items()[1].Find("b")->place().ToString(), "--set a=[1]");
}

TEST(YamlReader, Utf8IsCheckedStrictly) {
  EXPECT_TRUE(Read("a: \xF0\x9F\x99\x82\n").ok());
  for (const char* bad :
       {"a: \xC0\x80\n", "a: \xED\xA0\x80\n", "a: \xF5\x80\x80\x80\n", "a: \xE2\x82\n", "a: \x80\n"}) {
    EXPECT_FALSE(Read(bad).ok());
  }
}

}  // namespace
}  // namespace tenon
