#include <gtest/gtest.h>

#include "tests/ops_custom/custom_case.h"

namespace tenon {
namespace {

using namespace testing_support;

constexpr char kOp[] = "org.tenon.custom.Attention";

TEST(Attention, IsThatOfPyTorch) { CheckCases("attention"); }

// Queries behind the last key see none with a window: 0, and no gradient.
TEST(Attention, QueriesWithoutKeysGiveZero) {
  OnEachRuntime([](const api::Runtime& runtime) {
    const auto q = api::Tensor::Of(runtime, {1, 1, 9, 2}, Numbers(18)).RequireGradient();
    const auto k = api::Tensor::Of(runtime, {1, 1, 4, 2}, Numbers(8, 2)).RequireGradient();
    const auto v = api::Tensor::Of(runtime, {1, 1, 4, 2}, Numbers(8, 3)).RequireGradient();
    const auto y = api::Op(kOp, {q, k, v}, {{"window", 3}});
    const std::vector<float> values = y.Values<float>();
    for (std::size_t i = 12; i < 18; ++i) EXPECT_EQ(values[i], 0) << i;  // queries 6, 7 and 8
    EXPECT_NE(values[11], 0);
    const auto gradients = api::Gradients(api::ops::ReduceSum(y), {q, k, v});
    const std::vector<float> dq = gradients[0].Values<float>();
    for (std::size_t i = 12; i < 18; ++i) EXPECT_EQ(dq[i], 0) << i;
    for (const float x : gradients[2].Values<float>()) EXPECT_TRUE(x > 0);
  });
}

TEST(Attention, RefusesWrongShapes) {
  const api::Runtime& runtime = AnyRuntime();
  const auto tensor = [&](const api::Shape& shape) {
    std::int64_t count = 1;
    for (const std::int64_t dim : shape) count *= dim;
    return api::Tensor::Of(runtime, shape, Numbers(count));
  };
  const auto q = tensor({1, 3, 4, 5});
  ExpectRefused("Attention", {q, tensor({1, 2, 4, 5}), tensor({1, 2, 4, 5})}, {},
                {"The heads of Q must be a multiple of those of K.", "3", "2"});
  ExpectRefused("Attention", {q, tensor({1, 3, 4, 6}), tensor({1, 3, 4, 5})}, {}, {"the same width", "5", "6"});
  ExpectRefused("Attention", {q, tensor({1, 3, 4, 5}), tensor({1, 3, 2, 5})}, {},
                {"the same number of keys", "4", "2"});
  ExpectRefused("Attention", {q, q, q}, {{"window", -2}}, {"Attribute window is -2; it must be at least 0."});
  ExpectRefused("Attention", {tensor({3, 4, 5}), q, q}, {}, {"rank 3; rank 4 is needed"});
}

}  // namespace
}  // namespace tenon
