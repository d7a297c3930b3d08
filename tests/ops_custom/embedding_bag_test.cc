#include <gtest/gtest.h>

#include <cmath>

#include "tests/ops_custom/custom_case.h"

namespace tenon {
namespace {

using namespace testing_support;

constexpr char kOp[] = "org.tenon.custom.EmbeddingBag";

TEST(EmbeddingBag, IsThatOfPyTorch) { CheckCases("embedding_bag"); }

// Rows wider than what is summed at once, and as many that two threads share the bags: against plain sums.
TEST(EmbeddingBag, TakesWideRows) {
  OnEachRuntime([](const api::Runtime& runtime) {
    constexpr std::int64_t kRows = 50, kWidth = 131, kCount = 4000, kBags = 400;
    const std::vector<float> weight = Numbers(kRows * kWidth);
    std::vector<std::int64_t> indices, offsets;
    for (std::int64_t i = 0; i < kCount; ++i) indices.push_back(i * 7 % kRows);
    for (std::int64_t b = 0; b < kBags; ++b) offsets.push_back(b * kCount / kBags);
    const auto w = api::Tensor::Of(runtime, {kRows, kWidth}, weight).RequireGradient();
    const auto y =
        api::Op(kOp, {w, api::Tensor::Of(runtime, {kCount}, indices), api::Tensor::Of(runtime, {kBags}, offsets)},
                {{"mode", "sum"}});
    const std::vector<float> values = y.Values<float>();
    for (std::int64_t b = 0; b < kBags; ++b) {
      for (std::int64_t c = 0; c < kWidth; c += 13) {
        double sum = 0;
        for (std::int64_t i = 0; i < kCount / kBags; ++i)
          sum += static_cast<double>(
              weight[static_cast<std::size_t>(indices[static_cast<std::size_t>(b * kCount / kBags + i)] * kWidth + c)]);
        ASSERT_NEAR(values[static_cast<std::size_t>(b * kWidth + c)], sum, 1e-5) << b << " " << c;
      }
    }
    // Each row is named kCount / kRows times.
    for (const float x : api::Gradients(api::ops::ReduceSum(y), {w})[0].Values<float>()) ASSERT_EQ(x, kCount / kRows);
  });
}

TEST(EmbeddingBag, RefusesWrongCalls) {
  const api::Runtime& runtime = AnyRuntime();
  const auto weight = api::Tensor::Of(runtime, {4, 2}, Numbers(8));
  const auto of = [&](const std::vector<std::int64_t>& values) {
    return api::Tensor::Of(runtime, {static_cast<std::int64_t>(values.size())}, values);
  };
  ExpectRefused("EmbeddingBag", {weight, of({0, 4}), of({0})}, {}, {"Indices[1] is 4; Weight has 4 rows."});
  ExpectRefused("EmbeddingBag", {weight, of({0, 1}), of({1})}, {}, {"Offsets[0] is 1; the first bag begins at 0."});
  ExpectRefused("EmbeddingBag", {weight, of({0, 1}), of({0, 2, 1})}, {}, {"Offsets[2] is 1, below Offsets[1], 2."});
  ExpectRefused("EmbeddingBag", {weight, of({0, 1}), of({0, 3})}, {}, {"Offsets[1] is 3; Indices has 2 numbers."});
  ExpectRefused("EmbeddingBag", {weight, of({0, 1}), of({0})}, {{"mode", "min"}}, {"'min'", "sum, mean or max"});
  ExpectRefused("EmbeddingBag", {of({1}), of({0}), of({0})}, {}, {"Weight"});
}

}  // namespace
}  // namespace tenon
