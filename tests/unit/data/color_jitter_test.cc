#include "core/data/color_jitter.h"

#include <gtest/gtest.h>

#include "tests/unit/data/pictures.h"

namespace tenon {
namespace {

using testing::FixtureBytes;
using testing::LargestDifference;
using testing::RgbOf;

Picture Colours() { return testing::FromRgb(FixtureBytes("colours.rgb"), 12, 16); }

// Against torchvision on bytes; a sum in another order may round to the next number.
TEST(ColorJitter, EachChangeIsThatOfTorchvision) {
  const auto difference = [](auto change, double by, const char* expected) {
    Picture picture = Colours();
    change(by, &picture);
    return LargestDifference(RgbOf(picture), FixtureBytes(expected));
  };
  EXPECT_EQ(difference(AdjustBrightness, 1.3, "colours_brightness_1.3.rgb"), 0);
  EXPECT_LE(difference(AdjustContrast, 0.6, "colours_contrast_0.6.rgb"), 1);
  EXPECT_LE(difference(AdjustSaturation, 1.7, "colours_saturation_1.7.rgb"), 1);
  EXPECT_LE(difference(AdjustHue, 0.2, "colours_hue_0.2.rgb"), 1);
  EXPECT_LE(difference(AdjustHue, -0.35, "colours_hue_-0.35.rgb"), 1);
}

TEST(ColorJitter, ChangesWhatIsAskedForWithinItsBounds) {
  Picture same = Colours();
  JitterColours({}, CounterRng(1, 2), &same);
  EXPECT_EQ(RgbOf(same), RgbOf(Colours()));
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Picture picture = testing::FromRgb({100, 100, 100}, 1, 1);
    ColorJitterConfig config;
    config.brightness = 0.2;
    JitterColours(config, CounterRng(seed, 2), &picture);
    EXPECT_GE(picture.row(0)[0], 80);
    EXPECT_LE(picture.row(0)[0], 120);
  }
}

}  // namespace
}  // namespace tenon
