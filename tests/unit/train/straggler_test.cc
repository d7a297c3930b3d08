#include "core/train/straggler.h"

#include <gtest/gtest.h>

#include "core/train/rank_watch.h"

namespace tenon {
namespace {

TEST(Straggler, IsTheRankThatNeedsMuchMoreThanTheMedian) {
  const std::vector<RankTimes> even = {{1, 9, 0}, {2, 9, 1}, {1, 10, 0}, {1, 12, 0}};
  EXPECT_EQ(FindStraggler(even), std::nullopt);  // 13 against a median of 11
  std::vector<RankTimes> slow = even;
  slow[2].compute = 20;
  EXPECT_EQ(FindStraggler(slow), 2U);
  slow[2].compute = 10;
  slow[2].wait = 100;  // who waits is not slow
  EXPECT_EQ(FindStraggler(slow), std::nullopt);
}

TEST(Straggler, IsNotNamedForAFractionOfAMillisecond) {
  EXPECT_EQ(FindStraggler(std::vector<RankTimes>{{0, 0.02, 0}, {0, 0.4, 0}}), std::nullopt);
  EXPECT_EQ(FindStraggler(std::vector<RankTimes>{{0, 0.02, 0}, {0, 0.6, 0}}), 1U);
}

TEST(Straggler, OfTwoRanksTheFasterOneIsTheMeasure) {
  EXPECT_EQ(FindStraggler(std::vector<RankTimes>{{0, 10, 0}, {0, 16, 0}}), 1U);
  EXPECT_EQ(FindStraggler(std::vector<RankTimes>{{0, 10, 0}, {0, 14, 0}}), std::nullopt);
  EXPECT_EQ(FindStraggler(std::vector<RankTimes>{{0, 10, 0}}), std::nullopt);
}

TEST(Straggler, IsDescribedWithItsSplit) {
  const std::vector<RankTimes> ranks = {{1, 9, 20}, {25, 5, 0}};
  const std::string text = DescribeStraggler(ranks, 1);
  EXPECT_NE(text.find("Rank 1 is slow: its own work takes 30.0 ms a step (data 25.0, compute 5.0)"), std::string::npos)
      << text;
  EXPECT_NE(text.find("the median of the 2 ranks is 10.0 ms"), std::string::npos) << text;
  EXPECT_NE(text.find("data.workers"), std::string::npos) << text;
  EXPECT_NE(DescribeStraggler(std::vector<RankTimes>{{0, 1, 0}, {1, 9, 0}}, 1).find("computes slowly"),
            std::string::npos);
}

TEST(Communication, IsNamedAboveAFifthOfTheStep) {
  EXPECT_EQ(DescribeCommunication(0, {0, 8, 2}, false), "");
  EXPECT_EQ(DescribeCommunication(3, {1, 6, 3}, false),
            "Rank 3 stands still for communication during 30 % of its steps (3.0 of 10.0 ms). Larger batches or "
            "train.accumulate make it less.");
  EXPECT_NE(DescribeCommunication(0, {1, 6, 3}, true).find("waits for the slow rank"), std::string::npos);
}

}  // namespace
}  // namespace tenon
