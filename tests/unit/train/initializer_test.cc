#include "core/train/initializer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace tenon {
namespace {

struct Moments {
  double mean = 0, deviation = 0, low = 0, high = 0;
};

Moments MomentsOf(const Tensor& tensor) {
  const auto values = tensor.values<float>();
  Moments moments;
  for (const float value : values) moments.mean += value;
  moments.mean /= static_cast<double>(values.size());
  for (const float value : values) moments.deviation += (value - moments.mean) * (value - moments.mean);
  moments.deviation = std::sqrt(moments.deviation / static_cast<double>(values.size()));
  moments.low = *std::min_element(values.begin(), values.end());
  moments.high = *std::max_element(values.begin(), values.end());
  return moments;
}

bool Same(const Tensor& a, const Tensor& b) {
  return std::equal(a.values<float>().begin(), a.values<float>().end(), b.values<float>().begin());
}

TEST(Initializer, UniformFillsItsBounds) {
  const Moments moments = MomentsOf(InitialValue(Initializer::Uniform(0.5), Shape{100, 1000}, 1, "w"));
  EXPECT_NEAR(moments.mean, 0, 0.005);
  EXPECT_NEAR(moments.deviation, 0.5 / std::sqrt(3.0), 0.005);
  EXPECT_GE(moments.low, -0.5);
  EXPECT_LE(moments.high, 0.5);
  EXPECT_LT(moments.low, -0.49);
  EXPECT_GT(moments.high, 0.49);
}

TEST(Initializer, NormalHasItsDeviation) {
  const Tensor tensor = InitialValue(Initializer::Normal(2), Shape{100000}, 1, "w");
  const Moments moments = MomentsOf(tensor);
  EXPECT_NEAR(moments.mean, 0, 0.03);
  EXPECT_NEAR(moments.deviation, 2, 0.03);
  const auto within = std::count_if(tensor.values<float>().begin(), tensor.values<float>().end(),
                                    [](float v) { return std::abs(v) < 2; });
  EXPECT_NEAR(static_cast<double>(within) / 1e5, 0.6827, 0.01);
}

TEST(Initializer, ConstantIsConstant) {
  const Moments moments = MomentsOf(InitialValue(Initializer::Constant(3), Shape{7}, 1, "w"));
  EXPECT_EQ(moments.low, 3);
  EXPECT_EQ(moments.high, 3);
}

TEST(Initializer, DependsOnSeedAndNameAlone) {
  const auto make = [](std::uint64_t seed, const char* name) {
    return InitialValue(Initializer::Normal(1), Shape{64}, seed, name);
  };
  EXPECT_TRUE(Same(make(1, "conv1.weight"), make(1, "conv1.weight")));
  EXPECT_FALSE(Same(make(1, "conv1.weight"), make(2, "conv1.weight")));
  EXPECT_FALSE(Same(make(1, "conv1.weight"), make(1, "conv2.weight")));
  // Neighbouring names and seeds are not related.
  const Tensor a = make(1, "conv1.weight"), b = make(1, "conv2.weight");
  double product = 0;
  for (int i = 0; i < 64; ++i) product += static_cast<double>(a.data<float>()[i] * b.data<float>()[i]);
  EXPECT_LT(std::abs(product / 64), 0.5);
}

TEST(Initializer, NoElements) { EXPECT_EQ(InitialValue(Initializer::Normal(1), Shape{0, 3}, 1, "w").elements(), 0); }

TEST(Initializer, WhatDoesNotFitIntoMemoryIsAnError) {
  const auto made =
      MakeInitial({Initializer::Constant(1), Shape{std::int64_t{1} << 30, std::int64_t{1} << 28}}, 1, "huge.weight");
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.status().code(), Code::kResourceExhausted);
  EXPECT_NE(made.status().message().find("huge.weight"), std::string::npos) << made.status().message();
}

}  // namespace
}  // namespace tenon
