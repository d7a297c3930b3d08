#include <gtest/gtest.h>

#include "core/base/digest.h"
#include "core/base/fnv.h"
#include "core/base/status.h"
#include "core/base/text.h"

namespace tenon {
namespace {

Status Inner(bool fail) {
  if (fail) return InvalidArgument("The value {} is odd.", 3);
  return {};
}

Result<int> Middle(bool fail) {
  TENON_TRY_WHILE(Inner(fail), "reading '{}'", "x");
  return 7;
}

Result<int> Outer(bool fail) {
  TENON_ASSIGN_WHILE(const int value, Middle(fail), "loading the run");
  return value + 1;
}

TEST(Status, ErrorsWalkOutward) {
  EXPECT_EQ(*Outer(false), 8);
  const auto failed = Outer(true);
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.status().code(), Code::kInvalidArgument);
  EXPECT_EQ(failed.status().ToString(), "error: The value 3 is odd.\n - While reading 'x'\n - While loading the run");
  EXPECT_EQ(Inner(true).At("a.yaml:1:2").At("b.yaml:3:4").ToString(), "a.yaml:1:2: error: The value 3 is odd.");
  EXPECT_EQ(Status().ToString(), "OK");
}

TEST(Status, CopiesAreIndependent) {
  Status first = InvalidArgument("one");
  const Status second = first;
  first = Status();
  EXPECT_TRUE(first.ok());
  EXPECT_EQ(second.message(), "one");
}

TEST(Text, NearestName) {
  const std::vector<std::string> known = {"learning_rate", "momentum", "epochs"};
  EXPECT_EQ(NearestName("learnign_rate", known), "learning_rate");
  EXPECT_EQ(NearestName("Learning-Rate", known), "learning_rate");
  EXPECT_EQ(NearestName("epoch", known), "epochs");
  EXPECT_EQ(NearestName("batch", known), "");
  EXPECT_EQ(EditDistance("ab", "ba"), 1);
  EXPECT_EQ(EditDistance("", "abc"), 3);
}

TEST(Text, SplitJoinTrim) {
  EXPECT_EQ(Split("a,,b", ','), (std::vector<std::string>{"a", "", "b"}));
  const std::vector<std::string> items = {"a", "b", "c"};
  EXPECT_EQ(JoinAnd(items), "a, b and c");
  EXPECT_EQ(Join(items, "-"), "a-b-c");
  EXPECT_EQ(Trim(" \tx y\n"), "x y");
}

TEST(Text, LinesAreWrappedBetweenWords) {
  EXPECT_EQ(WrapLines("one two three", 2, 9), "  one two\n  three\n");
  EXPECT_EQ(WrapLines("longer than the width", 0, 4), "longer\nthan\nthe\nwidth\n");
  EXPECT_EQ(WrapLines("", 4, 20), "");
}

// POSIX shell, 2.2: nothing is special between single quotes but the quote.
TEST(Text, ShellWords) {
  EXPECT_EQ(ShellWord("train.epochs=3"), "train.epochs=3");
  EXPECT_EQ(ShellWord(""), "''");
  EXPECT_EQ(ShellWord("amp={level: O2}"), "'amp={level: O2}'");
  EXPECT_EQ(ShellWord("it's $HOME"), "'it'\\''s $HOME'");
}

TEST(Text, Globs) {
  EXPECT_TRUE(MatchesGlob("*.bias", "fc.bias"));
  EXPECT_FALSE(MatchesGlob("*.bias", "fc.bias2"));
  EXPECT_TRUE(MatchesGlob("l?yer*", "layer12"));
  EXPECT_TRUE(MatchesGlob("*a*b*", "xxaxxbxx"));
  EXPECT_FALSE(MatchesGlob("", "x"));
}

// From the test vectors of the algorithm's authors.
TEST(Fnv, KnownValues) {
  EXPECT_EQ(Fnv(""), 0xCBF29CE484222325u);
  EXPECT_EQ(Fnv("a"), 0xAF63DC4C8601EC8Cu);
  EXPECT_EQ(Fnv("foobar"), 0x85944171F73967E8u);
  EXPECT_EQ(Fnv("bar", Fnv("foo")), Fnv("foobar"));
  EXPECT_EQ(FnvByte(Fnv("fooba"), 'r'), Fnv("foobar"));
}

TEST(Digest, KnownValues) {
  Sha256 digest;
  digest.Update("a", 1);
  digest.Update("bc", 2);
  EXPECT_EQ(digest.HexDigest(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(Crc32(0, "123456789", 9), 0xcbf43926U);
  EXPECT_EQ(Crc32(Crc32(0, "1234", 4), "56789", 5), 0xcbf43926U);
}

}  // namespace
}  // namespace tenon
