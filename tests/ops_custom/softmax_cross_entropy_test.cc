#include <gtest/gtest.h>

#include <cmath>

#include "tests/ops_custom/custom_case.h"

namespace tenon {
namespace {

using namespace testing_support;

constexpr char kOp[] = "org.tenon.custom.SoftmaxCrossEntropy";

TEST(SoftmaxCrossEntropy, IsThatOfPyTorch) { CheckCases("softmax_cross_entropy"); }

// Rows of more than one block, whose maximum rises from block to block, against sums in double. Logits of 200 are known
// to 1e-5.
TEST(SoftmaxCrossEntropy, TakesLargeVocabularies) {
  OnEachRuntime([](const api::Runtime& runtime) {
    constexpr std::int64_t kRows = 2, kClasses = 10007;
    std::vector<float> logits = Numbers(kRows * kClasses);
    for (std::size_t i = 0; i < logits.size(); ++i)
      logits[i] = 9 * logits[i] + static_cast<float>(i % kClasses) * 2e-2f;
    const std::vector<std::int64_t> labels = {9999, 3};
    const auto x = api::Tensor::Of(runtime, {kRows, kClasses}, logits).RequireGradient();
    const auto y = api::Op(kOp, {x, api::Tensor::Of(runtime, {kRows}, labels)}, {{"reduction", "sum"}});
    const std::vector<float> dx = api::Gradients(y, {x})[0].Values<float>();
    double expected = 0;
    for (std::int64_t r = 0; r < kRows; ++r) {
      const float* row = logits.data() + r * kClasses;
      double sum = 0;
      for (std::int64_t c = 0; c < kClasses; ++c) sum += std::exp(static_cast<double>(row[c]));
      const auto label = labels[static_cast<std::size_t>(r)];
      expected += std::log(sum) - static_cast<double>(row[label]);
      for (std::int64_t c = 0; c < kClasses; ++c) {
        const double slope = std::exp(static_cast<double>(row[c])) / sum - (c == label ? 1 : 0);
        ASSERT_NEAR(dx[static_cast<std::size_t>(r * kClasses + c)], slope, 1e-5) << r << " " << c;
      }
    }
    EXPECT_NEAR(y.Values<float>()[0], expected, 1e-3);
  });
}

TEST(SoftmaxCrossEntropy, NeverHidesNaN) {
  OnEachRuntime([](const api::Runtime& runtime) {
    const float infinity = std::numeric_limits<float>::infinity();
    const auto loss = [&](float a, float b) {
      return api::Op(kOp, {api::Tensor::Of<float>(runtime, {1, 2}, {a, b}),
                           api::Tensor::Of<std::int64_t>(runtime, {1}, {1})})
          .Values<float>()[0];
    };
    EXPECT_TRUE(std::isnan(loss(std::nanf(""), 1)));
    EXPECT_TRUE(std::isnan(loss(1, std::nanf(""))));
    EXPECT_TRUE(std::isnan(loss(-infinity, -infinity)));
    EXPECT_FLOAT_EQ(loss(-infinity, 3), 0);
  });
}

TEST(SoftmaxCrossEntropy, RefusesWrongCalls) {
  const api::Runtime& runtime = AnyRuntime();
  const auto logits = api::Tensor::Of(runtime, {2, 3}, Numbers(6));
  const auto labels = [&](std::vector<std::int64_t> values) {
    const auto count = static_cast<std::int64_t>(values.size());
    return api::Tensor::Of(runtime, {count}, values);
  };
  ExpectRefused("SoftmaxCrossEntropy", {logits, labels({1, 3})}, {}, {"Labels[1] is 3; Logits has 3 classes"});
  ExpectRefused("SoftmaxCrossEntropy", {logits, labels({-1, 2})}, {}, {"Labels[0] is -1"});
  ExpectRefused("SoftmaxCrossEntropy", {logits, labels({1, 1, 1})}, {}, {"the same size on axis 0", "2", "3"});
  ExpectRefused("SoftmaxCrossEntropy", {logits, logits}, {}, {"Labels"});
  ExpectRefused("SoftmaxCrossEntropy", {logits, labels({1, 1})}, {{"reduction", "avg"}},
                {"'avg'", "none, sum or mean"});
}

}  // namespace
}  // namespace tenon
