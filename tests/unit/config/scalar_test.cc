#include "core/config/scalar.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace tenon {
namespace {

std::optional<std::int64_t> Integer(const std::string& text) {
  std::string complaint;
  return ReadInteger(ConfigNode::Scalar(text), complaint);
}

std::optional<double> Number(const std::string& text, bool infinite = false) {
  std::string complaint;
  return ReadNumber(ConfigNode::Scalar(text), infinite, complaint);
}

std::optional<bool> Bool(const std::string& text) {
  std::string complaint;
  return ReadBool(ConfigNode::Scalar(text), complaint);
}

TEST(Scalar, AllSpellingsOfANumberAreAlike) {
  for (const char* text : {"1e-4", "1E-4", "1.0e-4", ".0001", "1.e-4", "+1e-4", "0.0001", "1e-04", "10e-5"}) {
    EXPECT_EQ(Number(text), 1e-4) << text;
  }
  EXPECT_EQ(Number("-2"), -2.0);
  EXPECT_EQ(Number("5."), 5.0);
  EXPECT_EQ(Number("-.5"), -0.5);
  EXPECT_EQ(Number("0"), 0.0);
  EXPECT_EQ(Number("0e99999"), 0.0);
  EXPECT_EQ(Number("1e308"), 1e308);
}

TEST(Scalar, WhatIsNoNumberIsRefused) {
  for (const char* text : {"1e-4x", "1,000", "1_000",  "0x10", "010",  "0o7", "0b1", "00.5",    "e5",
                           ".",     "+",     "-",      ".e1",  "1e",   "1e+", "--1", "1 2",     "1.2.3",
                           "one",   "1e999", "1e-999", ".inf", ".nan", "inf", "nan", "Infinity"}) {
    EXPECT_FALSE(Number(text)) << text;
  }
}

TEST(Scalar, InfinityAndNanOnlyWhereAllowed) {
  EXPECT_EQ(Number(".inf", true), std::numeric_limits<double>::infinity());
  EXPECT_EQ(Number("-.Inf", true), -std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(Number(".nan", true).value()));
  EXPECT_FALSE(Number("inf", true));
}

TEST(Scalar, IntegersMayHaveAnExponentButNoFraction) {
  EXPECT_EQ(Integer("10"), 10);
  EXPECT_EQ(Integer("+10"), 10);
  EXPECT_EQ(Integer("-3"), -3);
  EXPECT_EQ(Integer("1e1"), 10);
  EXPECT_EQ(Integer("1.5e1"), 15);
  EXPECT_EQ(Integer("2.0"), 2);
  EXPECT_EQ(Integer("100e-2"), 1);
  EXPECT_EQ(Integer("0.0"), 0);
  for (const char* text : {"2.5", "1e-1", "0x10", "010", "1,000", "ten", "", ".inf", "1e"})
    EXPECT_FALSE(Integer(text)) << text;
}

TEST(Scalar, IntegersAreExactIn64Bits) {
  EXPECT_EQ(Integer("9223372036854775807"), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(Integer("-9223372036854775808"), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(Integer("9007199254740993"), 9007199254740993);
  EXPECT_EQ(Integer("1e18"), 1000000000000000000);
  EXPECT_FALSE(Integer("9223372036854775808"));
  EXPECT_FALSE(Integer("-9223372036854775809"));
  EXPECT_FALSE(Integer("1e19"));
  EXPECT_FALSE(Integer("1e999999999999"));
}

TEST(Scalar, OnlyTrueAndFalseAreBooleans) {
  EXPECT_EQ(Bool("true"), true);
  EXPECT_EQ(Bool("False"), false);
  for (const char* text : {"no", "off", "yes", "on", "y", "n", "1", "0", "tRUE", ""}) EXPECT_FALSE(Bool(text)) << text;
}

TEST(Scalar, NumbersInQuotesAreText) {
  std::string complaint;
  EXPECT_FALSE(ReadInteger(ConfigNode::Scalar("3", ScalarStyle::kQuoted), complaint));
  EXPECT_EQ(complaint, "needs an integer, but '3' in quotes is text. Remove the quotes.");
  EXPECT_EQ(ReadText(ConfigNode::Scalar("3"), complaint), "3");
  EXPECT_EQ(ReadText(ConfigNode::Scalar("no"), complaint), "no");
  EXPECT_EQ(ReadInteger(ConfigNode::Scalar("3", ScalarStyle::kExpanded), complaint), 3);
}

TEST(Scalar, NumbersPrintShortAndReadBack) {
  for (const double value : {0.0, 1.0, -1.0, 0.1, 1e-4, 1.0 / 3.0, 6.02e23, 5e-324, 1.7976931348623157e308}) {
    EXPECT_EQ(Number(NumberToText(value)), value) << NumberToText(value);
  }
  EXPECT_EQ(NumberToText(0.1), "0.1");
}

TEST(Scalar, LongTextIsShortenedAtACharacter) {
  std::string text(59, 'a');
  text += "\xC3\xA9 and more";
  EXPECT_EQ(Shortened(text), std::string(59, 'a') + "...");
  EXPECT_EQ(Shortened("a\nb"), "a b");
}

}  // namespace
}  // namespace tenon
