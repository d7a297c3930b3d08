#include "core/data/resample.h"

#include <gtest/gtest.h>

#include <random>

#include "core/data/image_file.h"
#include "core/data/resample_kernels.h"
#include "tests/unit/data/pictures.h"

namespace tenon {
namespace {

using testing::FixtureBytes;
using testing::LargestDifference;
using testing::RgbOf;

Picture Large() {
  const auto file = FixtureBytes("large.png");
  ImageFileDecoder decoder({});
  Picture picture;
  EXPECT_TRUE(decoder.Open(file).ok());
  EXPECT_TRUE(decoder.Decode({0, 0, 90, 120}, 1, &picture).ok());
  return picture;
}

Picture Resized(const Picture& in, const PixelRect& part, const PictureSize& to) {
  ResampleAxis rows, columns;
  rows.Set({static_cast<double>(part.top), static_cast<double>(part.height), in.height()}, to.height, 0, to.height);
  columns.Set({static_cast<double>(part.left), static_cast<double>(part.width), in.width()}, to.width, 0, to.width);
  Picture between, out;
  Resample(in, 0, 0, rows, columns, &between, &out);
  return out;
}

// Against torchvision's resized_crop of bytes.
TEST(Resample, GivesTheBytesOfTorchvision) {
  const Picture large = Large();
  const struct {
    PixelRect part;
    PictureSize to;
  } cases[] = {
      {{7, 5, 61, 83}, {24, 32}}, {{0, 0, 90, 120}, {17, 40}}, {{30, 40, 9, 11}, {24, 20}}, {{2, 3, 40, 24}, {20, 24}}};
  for (const auto& one : cases) {
    const std::string name = fmt::format("large_{}_{}_{}_{}_to_{}_{}.rgb", one.part.top, one.part.left, one.part.height,
                                         one.part.width, one.to.height, one.to.width);
    EXPECT_EQ(LargestDifference(RgbOf(Resized(large, one.part, one.to)), FixtureBytes(name)), 0) << name;
  }
}

TEST(Resample, AWindowOfAResultIsThatPartOfIt) {
  const Picture large = Large();
  const Picture whole = Resized(large, {0, 0, 90, 120}, {35, 46});
  ResampleAxis rows, columns;
  rows.Set({0, 90, 90}, 35, 2, 32);
  columns.Set({0, 120, 120}, 46, 7, 32);
  Picture between, out;
  Resample(large, 0, 0, rows, columns, &between, &out);
  for (std::int64_t y = 0; y < 32; ++y) {
    for (std::int64_t x = 0; x < 32; ++x)
      EXPECT_TRUE(std::equal(out.row(y) + 4 * x, out.row(y) + 4 * x + 3, whole.row(y + 2) + 4 * (x + 7)));
  }
  EXPECT_EQ(LargestDifference(RgbOf(out), FixtureBytes("large_short_35_centre_32.rgb")), 0);
}

TEST(ResampleKernels, AllGiveTheSameBits) {
  std::mt19937 random(5);
  std::vector<std::uint8_t> pixels(4 * 200 * 30 + 64);
  for (auto& pixel : pixels) pixel = static_cast<std::uint8_t>(random());
  const ResampleKernels& plain = PlainResampleKernels();
  const ResampleKernels& best = BestResampleKernels();
  for (const std::int64_t to : {1, 7, 33, 64, 100, 199, 200, 450}) {
    ResampleAxis axis;
    axis.Set({0, 200, 200}, to, 0, to);
    std::vector<std::uint8_t> a(static_cast<std::size_t>(4 * to)), b(a.size());
    plain.row(pixels.data(), axis, a.data());
    best.row(pixels.data(), axis, b.data());
    EXPECT_EQ(a, b) << to;
    axis.Set({0, 12, 12}, 5, 0, 5);
    for (std::int64_t i = 0; i < 5; ++i) {
      plain.column(pixels.data(), 800, axis.weights(i), axis.taps(), axis.shift(), 4 * std::min<std::int64_t>(to, 200),
                   a.data());
      best.column(pixels.data(), 800, axis.weights(i), axis.taps(), axis.shift(), 4 * std::min<std::int64_t>(to, 200),
                  b.data());
      EXPECT_EQ(a, b) << to;
    }
    ColourScale scale{{0.017f, 0.0171f, 0.0174f}, {-2.1f, -2.0f, -1.8f}};
    for (const bool mirrored : {false, true}) {
      std::vector<float> x(static_cast<std::size_t>(3 * to)), y(x.size());
      const std::int64_t count = std::min<std::int64_t>(to, 200);
      float* const in_x[3] = {x.data(), x.data() + count, x.data() + 2 * count};
      float* const in_y[3] = {y.data(), y.data() + count, y.data() + 2 * count};
      plain.planes(pixels.data(), count, scale, mirrored, in_x, 3);
      best.planes(pixels.data(), count, scale, mirrored, in_y, 3);
      EXPECT_EQ(x, y) << to;
      EXPECT_EQ(x[mirrored ? static_cast<std::size_t>(count) - 1 : 0], static_cast<float>(pixels[0]) * 0.017f - 2.1f);
    }
  }
}

}  // namespace
}  // namespace tenon
