#include <gtest/gtest.h>

#include <cmath>

#include "tests/ops_custom/custom_case.h"

namespace tenon {
namespace {

using namespace testing_support;

TEST(FocalLoss, IsThatOfTorchvision) { CheckCases("focal_loss"); }

// The sum over several blocks is the same for any number of threads, and far scores give no NaN.
TEST(FocalLoss, SumsBlocks) {
  float first = 0;
  OnEachRuntime([&](const api::Runtime& runtime) {
    std::vector<float> scores = Numbers(3 * 4099), targets(scores.size());
    for (std::size_t i = 0; i < scores.size(); ++i) scores[i] *= 200, targets[i] = i % 3 == 0 ? 1 : 0;
    const auto x = api::Tensor::Of(runtime, {3, 4099}, scores).RequireGradient();
    const auto y = api::Op("org.tenon.custom.SigmoidFocalLoss", {x, api::Tensor::Of(runtime, {3, 4099}, targets)},
                           {{"reduction", "mean"}, {"gamma", 0.5}});
    const float loss = y.Values<float>()[0];
    if (first == 0) first = loss;
    EXPECT_NEAR(loss, first, 1e-5 * std::abs(first));
    EXPECT_GT(loss, 1);
    for (const float slope : api::Gradients(y, {x})[0].Values<float>()) ASSERT_TRUE(std::isfinite(slope));
  });
}

TEST(FocalLoss, RefusesWrongCalls) {
  const api::Runtime& runtime = AnyRuntime();
  const auto x = api::Tensor::Of(runtime, {2, 3}, Numbers(6)), other = api::Tensor::Of(runtime, {2, 2}, Numbers(4));
  ExpectRefused("SigmoidFocalLoss", {x, other}, {}, {"X and Targets need the same size on axis 1.", "3", "2"});
  ExpectRefused("SigmoidFocalLoss", {x, x}, {{"gamma", -1.0}}, {"Attribute gamma is -1; it must be at least 0."});
  ExpectRefused("SigmoidFocalLoss", {x, x}, {{"alpha", 1.5}}, {"Attribute alpha is 1.5; it can be at most 1."});
  ExpectRefused("SigmoidFocalLoss", {x, x}, {{"reduction", "max"}}, {"'max'", "none, sum or mean"});
}

}  // namespace
}  // namespace tenon
