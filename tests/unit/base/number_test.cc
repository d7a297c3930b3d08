#include "core/base/number.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace tenon {
namespace {

TEST(ParseNumber, TakesTheWholeTextOrNothing) {
  EXPECT_EQ(ParseNumber<int>("-12"), -12);
  EXPECT_EQ(ParseNumber<std::int64_t>("007"), 7);
  EXPECT_EQ(ParseNumber<double>("2.5e-1"), 0.25);
  for (const char* text : {"", " 1", "1 ", "+1", "1x", "0x1", "1.0"}) {
    EXPECT_EQ(ParseNumber<int>(text), std::nullopt) << "'" << text << "'";
  }
}

TEST(ParseNumber, RefusesWhatTheTypeDoesNotHold) {
  EXPECT_EQ(ParseNumber<std::uint8_t>("255"), 255);
  EXPECT_EQ(ParseNumber<std::uint8_t>("256"), std::nullopt);
  EXPECT_EQ(ParseNumber<std::uint32_t>("-1"), std::nullopt);
  EXPECT_EQ(ParseNumber<double>("1e999"), std::nullopt);
}

}  // namespace
}  // namespace tenon
