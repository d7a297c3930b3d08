// The rule of keras.callbacks.EarlyStopping: a value is better when it beats the best one by more than min_delta; the run
// stops after `patience` values in a row that do not.
#include "core/train/early_stop.h"

#include <gtest/gtest.h>

#include <limits>

namespace tenon {
namespace {

// After which value the run stops; 0: not at all.
int StopsAfter(const EarlyStopConfig& config, const std::vector<double>& values) {
  EarlyStop stop(config);
  for (std::size_t i = 0; i < values.size(); ++i) {
    stop.Observe(values[i], static_cast<std::int64_t>(i) + 1);
    if (stop.reached()) return static_cast<int>(i) + 1;
  }
  return 0;
}

TEST(EarlyStop, CountsValuesInARow) {
  EXPECT_EQ(StopsAfter({"loss", 2, 0.0, "auto"}, {3, 2, 2, 1, 1.5, 1.5}), 6);
  EXPECT_EQ(StopsAfter({"loss", 1, 0.0, "auto"}, {3, 2, 2}), 3);
  EXPECT_EQ(StopsAfter({"loss", 3, 0.0, "auto"}, {3, 2, 2, 1, 1.5, 1.5}), 0);
}

TEST(EarlyStop, SmallGainsDoNotCount) {
  EXPECT_EQ(StopsAfter({"loss", 2, 0.5, "auto"}, {3, 2.6, 2.5}), 3);
  EXPECT_EQ(StopsAfter({"loss", 2, 0.5, "auto"}, {3, 2.4, 2.0, 1.95}), 4);
}

TEST(EarlyStop, KnowsWhichValuesAreBetter) {
  EXPECT_EQ(StopsAfter({"accuracy", 2, 0.0, "auto"}, {0.1, 0.2, 0.3}), 0);
  EXPECT_EQ(StopsAfter({"accuracy", 2, 0.0, "min"}, {0.1, 0.2, 0.3}), 3);
  EXPECT_EQ(StopsAfter({"loss", 2, 0.0, "max"}, {0.1, 0.2, 0.3}), 0);
}

TEST(EarlyStop, AValueThatIsNotFiniteIsNeverBetter) {
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(StopsAfter({"loss", 2, 0.0, "auto"}, {nan, nan}), 2);
  EXPECT_EQ(StopsAfter({"accuracy", 2, 0.0, "auto"}, {inf, 0.5, inf, inf}), 4);
}

TEST(EarlyStop, GoesOnFromItsState) {
  const EarlyStopConfig config{"loss", 3, 0.0, "auto"};
  EarlyStop first(config), second(config);
  for (const double value : {2.0, 1.0, 1.5}) first.Observe(value, 4);
  second.Restore(first.state());
  second.Observe(1.2, 5);
  EXPECT_FALSE(second.reached());
  second.Observe(1.1, 6);
  EXPECT_TRUE(second.reached());
  EXPECT_EQ(second.Summary().best, 1.0);
  EXPECT_EQ(second.Summary().best_epoch, 4);
}

}  // namespace
}  // namespace tenon
