#include <gtest/gtest.h>

#include "tests/ops_custom/custom_case.h"

namespace tenon {
namespace {

using namespace testing_support;

TEST(RotaryEmbedding, IsThatOfPyTorch) { CheckCases("rotary_embedding"); }

// The product of two turned vectors depends on the distance of their positions alone.
TEST(RotaryEmbedding, KeepsDistances) {
  OnEachRuntime([](const api::Runtime& runtime) {
    const std::vector<float> q = Numbers(34, 1), k = Numbers(34, 2);
    const auto product = [&](int at_q, int at_k) {
      const auto turned = [&](const std::vector<float>& x, int position) {
        return api::Op("org.tenon.custom.RotaryEmbedding", {api::Tensor::Of(runtime, {1, 1, 1, 34}, x)},
                       {{"first", position}})
            .Values<float>();
      };
      const std::vector<float> a = turned(q, at_q), b = turned(k, at_k);
      double sum = 0;
      for (std::size_t i = 0; i < a.size(); ++i) sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
      return sum;
    };
    EXPECT_NEAR(product(7, 3), product(104, 100), 1e-4);
    EXPECT_GT(std::abs(product(7, 3) - product(7, 6)), 1e-2);
  });
}

TEST(RotaryEmbedding, RefusesWrongWidths) {
  const api::Runtime& runtime = AnyRuntime();
  const auto x = [&](std::int64_t width) { return api::Tensor::Of(runtime, {1, 2, 1, width}, Numbers(2 * width)); };
  ExpectRefused("RotaryEmbedding", {x(5)}, {}, {"the head width of X must be even", "5"});
  ExpectRefused("RotaryEmbedding", {x(6)}, {{"width", 8}}, {"Attribute width is 8", "the heads of X have 6"});
  ExpectRefused("RotaryEmbedding", {x(6)}, {{"width", 3}}, {"Attribute width is 3; it must be even"});
  ExpectRefused("RotaryEmbedding", {x(6)}, {{"base", 0.0}}, {"Attribute base is 0; it must be above 0."});
  ExpectRefused("RotaryEmbedding", {api::Tensor::Of(runtime, {2, 6}, Numbers(12))}, {}, {"rank 2; rank 4 is needed"});
}

}  // namespace
}  // namespace tenon
