#include "core/train/schedule.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

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

// Values below are those of torch.optim.lr_scheduler 2.15 with a rate of 0.1, one step an epoch where epochs count.
void ExpectRates(const ScheduleConfig& schedule, std::int64_t total, std::int64_t per_epoch,
                 const std::vector<double>& expected) {
  for (std::size_t step = 0; step < expected.size(); ++step)
    EXPECT_NEAR(LearningRateAt(schedule, 0.1, static_cast<std::int64_t>(step), total, per_epoch), expected[step], 1e-12)
        << KindOf(schedule) << " at step " << step;
}

TEST(Schedule, FollowsTorch) {
  ExpectRates(StepScheduleConfig{0, 2, 0.5}, 7, 1, {0.1, 0.1, 0.05, 0.05, 0.025, 0.025, 0.0125});
  ExpectRates(MultiStepScheduleConfig{0, {2, 5}, 0.1}, 7, 1, {0.1, 0.1, 0.01, 0.01, 0.01, 0.001, 0.001});
  ExpectRates(CosineScheduleConfig{0, 0.01}, 8, 1,
              {0.1, 0.096574578963, 0.0868198051534, 0.0722207544564, 0.055, 0.0377792455436, 0.0231801948466,
               0.013425421037, 0.01});
  ExpectRates(PolynomialScheduleConfig{0, 2.0, 0.0}, 8, 1,
              {0.1, 0.0765625, 0.05625, 0.0390625, 0.025, 0.0140625, 0.00625, 0.0015625, 0});
  ExpectRates(ExponentialScheduleConfig{0, 1, 0.9}, 6, 1, {0.1, 0.09, 0.081, 0.0729, 0.06561, 0.059049});
}

TEST(Schedule, OneCycleFollowsTorch) {
  ExpectRates(OneCycleScheduleConfig{}, 10, 5,
              {0.004, 0.052, 0.1, 0.0950484632013, 0.081174565395, 0.0611262021936, 0.0388741978064, 0.018825834605,
               0.00495193679865, 4e-07});
  OneCycleScheduleConfig straight;
  straight.pct_start = 0.4;
  straight.three_phase = true;
  straight.anneal = "linear";
  straight.div_factor = 10;
  straight.final_div_factor = 100;
  ExpectRates(
      straight, 20, 5,
      {0.01, 0.0228571428571, 0.0357142857143, 0.0485714285714, 0.0614285714286, 0.0742857142857, 0.0871428571429,
       0.1,  0.0871428571429, 0.0742857142857, 0.0614285714286, 0.0485714285714, 0.0357142857143, 0.0228571428571,
       0.01, 0.00802,         0.00604,         0.00406,         0.00208,         0.0001});
}

// nn.polynomial_decay_lr(0.1, 0.01, total_step=6, step_per_epoch=2, decay_epoch=3, power=0.5) counts epochs: its values at
// the first step of each are min_lr + (lr - min_lr) * (1 - epoch / 3)^0.5.
TEST(Schedule, PolynomialFollowsMindSporeAtTheStartOfEpochs) {
  const PolynomialScheduleConfig schedule{0, 0.5, 0.01};
  for (std::int64_t epoch = 0; epoch < 3; ++epoch)
    EXPECT_NEAR(LearningRateAt(schedule, 0.1, epoch * 2, 6, 2),
                0.01 + 0.09 * std::sqrt(1 - static_cast<double>(epoch) / 3), 1e-12);
}

TEST(Schedule, ExponentialFallsEachStepAndByGammaEachSpan) {
  const ExponentialScheduleConfig schedule{0, 2, 0.25};
  EXPECT_NEAR(LearningRateAt(schedule, 1, 5, 100, 5), 0.5, 1e-12);
  EXPECT_NEAR(LearningRateAt(schedule, 1, 10, 100, 5), 0.25, 1e-12);
  EXPECT_NEAR(LearningRateAt(schedule, 1, 1, 100, 5), std::pow(0.25, 0.1), 1e-12);
}

// After the warm-up a schedule over the rest of the run goes on as if it began there.
TEST(Schedule, EveryKindHasAWarmUp) {
  const std::vector<std::pair<ScheduleConfig, double>> kinds = {{ConstantScheduleConfig{4}, 1.0},
                                                                {StepScheduleConfig{4, 30, 0.1}, 1.0},
                                                                {MultiStepScheduleConfig{4, {50}, 0.1}, 1.0},
                                                                {CosineScheduleConfig{4, 0.0}, 1.0},
                                                                {PolynomialScheduleConfig{4, 1.0, 0.0}, 1.0},
                                                                {OneCycleScheduleConfig{4}, 0.04}};
  for (const auto& [schedule, start] : kinds) {
    for (std::int64_t step = 0; step < 4; ++step)
      EXPECT_NEAR(LearningRateAt(schedule, 1, step, 40, 10), start * static_cast<double>(step + 1) / 4, 1e-12)
          << KindOf(schedule);
    EXPECT_NEAR(LearningRateAt(schedule, 1, 4, 40, 10), start, 1e-12) << KindOf(schedule);
  }
  EXPECT_NEAR(LearningRateAt(ExponentialScheduleConfig{4, 1, 0.5}, 1, 3, 40, 10), 1.0, 1e-12);
  EXPECT_NEAR(LearningRateAt(PolynomialScheduleConfig{4, 1.0, 0.0}, 1, 22, 40, 10), 0.5, 1e-12);
}

TEST(Schedule, ACycleOfOneStepIsFinite) {
  for (const std::int64_t total : {1, 2, 3, 4})
    for (std::int64_t step = 0; step < total + 2; ++step)
      EXPECT_TRUE(std::isfinite(LearningRateAt(OneCycleScheduleConfig{}, 0.1, step, total, 1))) << total << " " << step;
}

}  // namespace
}  // namespace tenon
