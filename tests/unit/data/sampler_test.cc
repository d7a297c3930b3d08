#include "core/data/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "core/data/counter_rng.h"
#include "core/data/split.h"

namespace tenon {
namespace {

using Rows = std::vector<std::int64_t>;

std::shared_ptr<const Rows> Natural(std::int64_t count) {
  Rows rows(static_cast<std::size_t>(count));
  std::iota(rows.begin(), rows.end(), 0);
  return std::make_shared<const Rows>(rows);
}

Rows OrderOf(std::int64_t count, const SamplerOptions& options, std::int64_t epoch) {
  const Sampler sampler(Natural(count), options);
  Rows order;
  sampler.Order(epoch, &order);
  EXPECT_EQ(std::ssize(order), sampler.count());
  return order;
}

TEST(CounterRng, ValuesNeverChange) {
  // Computed with an independent program from the definition; checkpoints of runs depend on them.
  const CounterRng rng(1, 2);
  EXPECT_EQ(rng.Bits(0), CounterRng(1, 2).Bits(0));
  EXPECT_NE(rng.Bits(0), rng.Bits(1));
  EXPECT_NE(rng.Bits(0), CounterRng(2, 2).Bits(0));
  EXPECT_NE(rng.Bits(0), CounterRng(1, 3).Bits(0));
  EXPECT_EQ(rng.Bits(0), 0x1b5ec78a8771f9b4u);
  EXPECT_EQ(CounterRng(5489, 7).Bits(1000000), 0x6350b6f7ab8ff0bu);
}

TEST(CounterRng, BelowIsEven) {
  const CounterRng rng(3, 0);
  std::vector<int> counts(7);
  for (std::uint64_t i = 0; i < 70000; ++i) ++counts[rng.Below(i, 7)];
  for (const int count : counts) EXPECT_NEAR(count, 10000, 400);
  double sum = 0;
  for (std::uint64_t i = 0; i < 10000; ++i) sum += static_cast<double>(rng.Uniform(i));
  EXPECT_NEAR(sum / 10000, 0.5, 0.02);
}

TEST(Sampler, NaturalOrderWithoutShuffle) { EXPECT_EQ(OrderOf(4, {}, 3), (Rows{0, 1, 2, 3})); }

TEST(Sampler, ShuffledOrderDependsOnSeedAndEpochAlone) {
  SamplerOptions options{true, 1};
  const Rows first = OrderOf(1000, options, 0);
  EXPECT_EQ(first, OrderOf(1000, options, 0));
  const Rows second = OrderOf(1000, options, 1);
  EXPECT_NE(first, second);
  options.seed = 2;
  EXPECT_NE(first, OrderOf(1000, options, 0));
  for (Rows order : {first, second}) {
    std::sort(order.begin(), order.end());
    EXPECT_EQ(order, *Natural(1000));
  }
  // Known values: orders must not change between versions, or runs could not be resumed.
  EXPECT_EQ(OrderOf(10, {true, 1}, 0), (Rows{6, 3, 4, 9, 5, 0, 1, 7, 8, 2}));
}

TEST(Sampler, EachPlaceIsEquallyLikely) {
  std::vector<int> at_front(5);
  for (std::int64_t epoch = 0; epoch < 10000; ++epoch)
    ++at_front[static_cast<std::size_t>(OrderOf(5, {true, 9}, epoch)[0])];
  for (const int count : at_front) EXPECT_NEAR(count, 2000, 200);
}

TEST(Split, EveryFifthRow) {
  const auto parts = SplitRows(12, {5, 0}, 1);
  ASSERT_TRUE(parts.ok());
  EXPECT_EQ(parts->test, (Rows{4, 9}));
  EXPECT_EQ(parts->train, (Rows{0, 1, 2, 3, 5, 6, 7, 8, 10, 11}));
}

TEST(Split, FractionBySeed) {
  const auto parts = SplitRows(1000, {0, 0.2}, 1);
  ASSERT_TRUE(parts.ok());
  EXPECT_EQ(parts->test.size(), 200u);
  EXPECT_EQ(parts->train.size(), 800u);
  EXPECT_TRUE(std::is_sorted(parts->test.begin(), parts->test.end()));
  EXPECT_TRUE(std::is_sorted(parts->train.begin(), parts->train.end()));
  EXPECT_EQ(parts->test, SplitRows(1000, {0, 0.2}, 1)->test);
  EXPECT_NE(parts->test, SplitRows(1000, {0, 0.2}, 2)->test);
  EXPECT_EQ(SplitRows(3, {0, 0.01}, 1)->test.size(), 1u);
  EXPECT_EQ(SplitRows(3, {0, 0.99}, 1)->test.size(), 2u);
}

TEST(Split, WithoutARuleAllIsForTraining) {
  EXPECT_EQ(SplitRows(2, {}, 1)->train.size(), 2u);
  EXPECT_EQ(SplitRows(2, {}, 1)->test.size(), 0u);
}

TEST(Split, RefusesEmptyParts) {
  EXPECT_EQ(SplitRows(5, {1, 0}, 1).status().message(),
            "The split every_1 leaves no samples for training; every_2 is the smallest.");
  EXPECT_EQ(SplitRows(3, {5, 0}, 1).status().message(), "The split every_5 finds no test sample among 3 samples.");
  EXPECT_EQ(SplitRows(5, {0, 1.5}, 1).status().message(), "The test part is 1.5; it must lie between 0 and 1.");
  EXPECT_EQ(SplitRows(1, {0, 0.5}, 1).status().message(), "A split needs at least 2 samples, but there is 1.");
}

}  // namespace
}  // namespace tenon
