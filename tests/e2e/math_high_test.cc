// `math: high`: gradients of a network within 1e-5 of the exact ones, by other kernels, in both modes.
#include <gtest/gtest.h>

#include <cmath>

#include "core/platform/cpu_features.h"
#include "tests/e2e/step_session.h"

namespace tenon {
namespace {

constexpr const char* kProducts =
    "data: {type: synthetic, samples: 96, classes: 10, image: {shape: [1, 12, 12]}, batch: 32, split: {test: 0.2}}\n"
    "network: {layers: [flatten, {linear: {out: 96}}, relu, {linear: {out: 64}}, gelu, {linear: {out: 10}}]}\n"
    "optimizer: {type: sgd, lr: 0.01, momentum: 0.9}\n"
    "plugins: {load: [{name: device_cpu, options: {split_products: always}}]}\n";
// The first one has too few channels.
constexpr const char* kConvolutions =
    "data: {type: synthetic, samples: 64, classes: 10, image: {shape: [3, 10, 10]}, batch: 32, split: {test: 0.5}}\n"
    "network: {layers: [{conv: {out: 16, kernel: 3}}, relu, {conv: {out: 32, kernel: 3, pad: 1}}, relu, "
    "{conv: {out: 16, kernel: 3, pad: 1, bias: false}}, tanh, flatten, {linear: {out: 10}}]}\n"
    "optimizer: {type: sgd, lr: 0.01, momentum: 0.9}\n";

struct OneStep {
  double loss = 0;
  std::map<std::string, std::vector<double>> values;
  std::int64_t high = 0;  // nodes
};

OneStep Train(const char* sections, const std::string& mode, const std::string& math) {
  StepSession session(sections + ("mode: " + mode + "\nmath: " + math + "\n"));
  session.Prepare();
  OneStep step;
  step.loss = session.TrainEpochs(1, 0.01).front();
  step.values = session.Values();
  for (const auto& kernel : session.Summary().kernels) step.high += kernel.second.high;
  return step;
}

class MathHigh : public testing::TestWithParam<const char*> {};

void ExpectFollows(const OneStep& high, const OneStep& exact) {
  EXPECT_EQ(exact.high, 0);
  EXPECT_NEAR(high.loss, exact.loss, 1e-5 * exact.loss);
  bool differs = false;
  for (const auto& [name, want] : exact.values) {
    const std::vector<double>& got = high.values.at(name);
    double errors = 0, squares = 0;
    for (std::size_t i = 0; i < want.size(); ++i) {
      errors += (got[i] - want[i]) * (got[i] - want[i]);
      squares += want[i] * want[i];
      differs |= got[i] != want[i];
    }
    EXPECT_LE(std::sqrt(errors), 1e-5 * std::sqrt(squares) + 1e-12) << name;
  }
  EXPECT_TRUE(differs) << "the exact kernels ran";
}

TEST_P(MathHigh, FollowsTheExactProducts) {
  if (!HasCpuFeature("avx512_bf16")) GTEST_SKIP() << "This processor has no instructions for bf16 (AVX-512 BF16).";
  const OneStep high = Train(kProducts, GetParam(), "high");
  EXPECT_GE(high.high, 8) << "three products forward, five backward";
  ExpectFollows(high, Train(kProducts, GetParam(), "exact"));
}

TEST_P(MathHigh, FollowsTheExactConvolutions) {
  const OneStep high = Train(kConvolutions, GetParam(), "high");
  EXPECT_GE(high.high, 4) << "two forward, and their gradients";
  ExpectFollows(high, Train(kConvolutions, GetParam(), "exact"));
}

INSTANTIATE_TEST_SUITE_P(Modes, MathHigh, testing::Values("graph", "pynative"));

}  // namespace
}  // namespace tenon
