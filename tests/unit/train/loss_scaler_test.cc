// The rule of MindSpore's DynamicLossScaleUpdateCell: after an overflow max(scale / factor, 1); after `window` steps without
// one, scale * factor.
#include "core/train/loss_scaler.h"

#include <gtest/gtest.h>

namespace tenon {
namespace {

AmpConfig Amp(LossScaleConfig::Kind kind, double scale) {
  AmpConfig amp;
  amp.level = AmpLevel::kO2;
  amp.dtype = AmpDType::kFP16;
  amp.loss_scale.kind = kind;
  amp.loss_scale.scale = scale;
  amp.loss_scale.window = 3;
  amp.loss_scale.limit = 5;
  return amp;
}

TEST(LossScaler, IsOnForHalfPrecisionAlone) {
  AmpConfig amp{.level = AmpLevel::kO0};
  EXPECT_FALSE(ScalesLoss(amp));
  amp.level = AmpLevel::kO1;
  EXPECT_FALSE(ScalesLoss(amp)) << "bf16 has the range of float32";
  amp.dtype = AmpDType::kFP16;
  EXPECT_TRUE(ScalesLoss(amp));
  amp.loss_scale.kind = LossScaleConfig::Kind::kNone;
  EXPECT_FALSE(ScalesLoss(amp));
  amp.dtype = AmpDType::kBF16;
  amp.loss_scale.kind = LossScaleConfig::Kind::kFixed;
  EXPECT_TRUE(ScalesLoss(amp));
}

TEST(LossScaler, ShrinksAtOnceAndGrowsAfterTheWindow) {
  LossScaler scaler(Amp(LossScaleConfig::Kind::kDynamic, 8));
  const bool overflowed[] = {true, false, false, true, false, false, false, false};
  const double scales[] = {4, 4, 4, 2, 2, 2, 4, 4};
  for (int i = 0; i < 8; ++i) {
    ASSERT_TRUE(scaler.Update(overflowed[i]).ok());
    EXPECT_EQ(scaler.scale(), scales[i]) << "after step " << i + 1;
  }
  EXPECT_EQ(scaler.state().skipped_steps, 2);
}

TEST(LossScaler, StaysBetweenOneAndTheLargest) {
  LossScaler low(Amp(LossScaleConfig::Kind::kDynamic, 2));
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(low.Update(true).ok());
  EXPECT_EQ(low.scale(), 1);
  LossScaler high(Amp(LossScaleConfig::Kind::kDynamic, LossScaler::kMostScale));
  for (int i = 0; i < 9; ++i) ASSERT_TRUE(high.Update(false).ok());
  EXPECT_EQ(high.scale(), LossScaler::kMostScale);
}

TEST(LossScaler, EndlessOverflowEndsTheRun) {
  LossScaler scaler(Amp(LossScaleConfig::Kind::kDynamic, 1024));
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(scaler.Update(true).ok());
  ASSERT_TRUE(scaler.Update(false).ok());
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(scaler.Update(true).ok());
  const Status status = scaler.Update(true);
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.message().find("5 steps in a row"), std::string::npos) << status.message();
}

TEST(LossScaler, FixedStays) {
  LossScaler scaler(Amp(LossScaleConfig::Kind::kFixed, 128));
  for (const bool overflowed : {true, false, false, false, false}) ASSERT_TRUE(scaler.Update(overflowed).ok());
  EXPECT_EQ(scaler.scale(), 128);
  EXPECT_EQ(scaler.state().skipped_steps, 1);
}

}  // namespace
}  // namespace tenon
