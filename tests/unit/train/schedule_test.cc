#include "core/train/schedule.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tenon {
namespace {

TEST(Schedule, Constant) {
  for (const std::int64_t step : {0, 1, 500})
    EXPECT_EQ(LearningRateAt(ConstantScheduleConfig{}, 0.3, step, 100, 10), 0.3);
}

TEST(Schedule, WarmUpRisesToTheFullRate) {
  ConstantScheduleConfig schedule;
  schedule.warmup_steps = 4;
  const double expected[] = {0.25, 0.5, 0.75, 1, 1, 1};
  for (std::int64_t step = 0; step < 6; ++step)
    EXPECT_DOUBLE_EQ(LearningRateAt(schedule, 1, step, 100, 10), expected[step]);
}

TEST(Schedule, StairsCountEpochs) {
  StepScheduleConfig schedule;
  schedule.every = 2;
  schedule.gamma = 0.1;
  EXPECT_DOUBLE_EQ(LearningRateAt(schedule, 1, 0, 100, 5), 1);
  EXPECT_DOUBLE_EQ(LearningRateAt(schedule, 1, 9, 100, 5), 1);
  EXPECT_DOUBLE_EQ(LearningRateAt(schedule, 1, 10, 100, 5), 0.1);
  EXPECT_NEAR(LearningRateAt(schedule, 1, 20, 100, 5), 0.01, 1e-15);
  schedule.warmup_steps = 12;  // a warm-up that ends below the first stair
  EXPECT_DOUBLE_EQ(LearningRateAt(schedule, 1, 11, 100, 5), 1);
  EXPECT_DOUBLE_EQ(LearningRateAt(schedule, 1, 12, 100, 5), 0.1);
}

TEST(Schedule, CosineFallsToItsEnd) {
  CosineScheduleConfig schedule;
  schedule.min_lr = 0.1;
  EXPECT_DOUBLE_EQ(LearningRateAt(schedule, 1, 0, 100, 10), 1);
  EXPECT_NEAR(LearningRateAt(schedule, 1, 50, 100, 10), 0.55, 1e-12);
  EXPECT_NEAR(LearningRateAt(schedule, 1, 100, 100, 10), 0.1, 1e-12);
  EXPECT_NEAR(LearningRateAt(schedule, 1, 900, 100, 10), 0.1, 1e-12);
  double before = 2;
  for (std::int64_t step = 0; step < 100; ++step) {
    const double rate = LearningRateAt(schedule, 1, step, 100, 10);
    EXPECT_LT(rate, before);
    before = rate;
  }
}

TEST(Schedule, CosineAfterWarmUpStartsAtTheFullRate) {
  CosineScheduleConfig schedule;
  schedule.warmup_steps = 10;
  EXPECT_DOUBLE_EQ(LearningRateAt(schedule, 1, 9, 110, 10), 1);
  EXPECT_DOUBLE_EQ(LearningRateAt(schedule, 1, 10, 110, 10), 1);
  EXPECT_NEAR(LearningRateAt(schedule, 1, 60, 110, 10), 0.5, 1e-12);
  schedule.warmup_steps = 500;  // longer than the run
  EXPECT_NEAR(LearningRateAt(schedule, 1, 109, 110, 10), 110.0 / 500, 1e-12);
}

}  // namespace
}  // namespace tenon
