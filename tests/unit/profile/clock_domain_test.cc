#include "core/profile/clock_domain.h"

#include <gtest/gtest.h>

namespace tenon::profile {
namespace {

TEST(ClockDomain, TheHostsOwnClockIsKeptExactly) {
  ClockDomain clock("host", 1.0, 0);
  const std::int64_t base = 9'007'199'254'740'993;  // beyond the integers that a double holds
  for (const std::int64_t at : {0, 50, 100}) clock.AddPair(static_cast<std::uint64_t>(base + at), base + at, 0);
  for (const std::int64_t at : {-7, 0, 1, 49, 50, 99, 100, 12345})
    EXPECT_EQ(clock.ToHost(static_cast<std::uint64_t>(base + at), base), base + at) << at;
}

TEST(ClockDomain, OnePairGoesByTheStatedRate) {
  ClockDomain clock("cycles", 0.5, 0);
  clock.AddPair(1000, 70'000, 20);
  EXPECT_EQ(clock.ToHost(1000, 0), 70'000);
  EXPECT_EQ(clock.ToHost(3000, 0), 71'000);
  EXPECT_EQ(clock.ToHost(0, 0), 69'500);
  EXPECT_EQ(clock.uncertainty_ns(), 20U);
}

// The stated 1 ns a tick is wrong by a fifth; pairs around a reading correct it, outside of them the rate stands.
TEST(ClockDomain, PairsCorrectTheRate) {
  ClockDomain clock("drifting", 1.0, 0);
  clock.AddPair(0, 1000, 0);
  clock.AddPair(1000, 2200, 0);
  clock.AddPair(2000, 3200, 0);
  EXPECT_EQ(clock.ToHost(500, 0), 1600);
  EXPECT_EQ(clock.ToHost(1500, 0), 2700);
  EXPECT_EQ(clock.ToHost(2100, 0), 3300);
}

TEST(ClockDomain, AClockThatStandsStillBetweenPairs) {
  ClockDomain clock("simulated", 1.0, 0);
  clock.AddPair(100, 1000, 0);
  clock.AddPair(100, 5000, 0);
  clock.AddPair(200, 6000, 0);
  EXPECT_EQ(clock.ToHost(150, 0), 5500);
}

// A counter of 8 bits with 10 ns a tick turns every 2560 ns.
TEST(ClockDomain, ANarrowCounterWraps) {
  ClockDomain clock("narrow", 10.0, 8);
  clock.AddPair(250, 10'000, 0);
  clock.AddPair(4, 10'100, 0);
  EXPECT_EQ(clock.ToHost(255, 10'050), 10'050);
  EXPECT_EQ(clock.ToHost(0, 10'060), 10'060);
  EXPECT_EQ(clock.ToHost(9, 10'100), 10'150);
  clock.AddPair(4, 10'100 + 3 * 2560, 0);  // three turns later
  EXPECT_EQ(clock.ToHost(4, 10'100 + 2560 + 40), 10'100 + 2560);
  EXPECT_EQ(clock.ToHost(14, 10'100 + 2 * 2560), 10'200 + 2 * 2560);
}

TEST(ClockDomain, WithoutAPairTheGivenTimeIsAllThereIs) {
  const ClockDomain clock("none", 1.0, 0);
  EXPECT_EQ(clock.ToHost(5, 77), 77);
}

TEST(ClockDomain, ARateThatIsNoneCountsAsOne) {
  for (const double rate : {0.0, -1.0, std::numeric_limits<double>::quiet_NaN()}) {
    ClockDomain clock("odd", rate, 0);
    clock.AddPair(10, 100, 0);
    EXPECT_EQ(clock.ToHost(15, 0), 105);
  }
}

}  // namespace
}  // namespace tenon::profile
