#include <gtest/gtest.h>

#include "tests/ops_custom/custom_case.h"

namespace tenon {
namespace {

using namespace testing_support;

constexpr char kOp[] = "org.tenon.custom.DeformConv";

TEST(DeformConv, IsThatOfTorchvision) { CheckCases("deform_conv"); }

api::Tensor Random(const api::Runtime& runtime, const api::Shape& shape, unsigned seed = 1) {
  std::int64_t count = 1;
  for (const std::int64_t dim : shape) count *= dim;
  return api::Tensor::Of(runtime, shape, Numbers(count, seed));
}
api::Tensor Zeros(const api::Runtime& runtime, const api::Shape& shape) {
  std::int64_t count = 1;
  for (const std::int64_t dim : shape) count *= dim;
  return api::Tensor::Of(runtime, shape, std::vector<float>(static_cast<std::size_t>(count)));
}

// Taps that stay make it a convolution, over more than one block of pixels.
TEST(DeformConv, WithoutOffsetsIsConv) {
  OnEachRuntime([](const api::Runtime& runtime) {
    const auto x = Random(runtime, {2, 6, 13, 11}).RequireGradient(),
               w = Random(runtime, {4, 3, 3, 3}, 2).RequireGradient();
    const auto bias = Random(runtime, {4}, 3).RequireGradient();
    const auto y = api::Op(kOp, {x, w, Zeros(runtime, {2, 18, 13, 11}), bias}, {{"padding", {1, 1}}});
    const auto conv = api::ops::Conv(x, w, bias, {{"pads", {1, 1, 1, 1}}, {"group", 2}});
    const std::vector<float> a = y.Values<float>(), b = conv.Values<float>(), weights = Numbers(2 * 4 * 13 * 11, 4);
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], 1e-5) << i;
    const auto own = api::Gradients(Weighted(runtime, y, weights), {x, w, bias});
    const auto other = api::Gradients(Weighted(runtime, conv, weights), {x, w, bias});
    for (std::size_t k = 0; k < own.size(); ++k) {
      const std::vector<float> c = own[k].Values<float>(), d = other[k].Values<float>();
      ASSERT_EQ(c.size(), d.size());
      for (std::size_t i = 0; i < c.size(); ++i) ASSERT_NEAR(c[i], d[i], 1e-4) << k << " " << i;
    }
  });
}

TEST(DeformConv, RefusesWrongShapes) {
  const api::Runtime& runtime = AnyRuntime();
  const auto x = Zeros(runtime, {1, 4, 5, 5}), w = Zeros(runtime, {2, 4, 3, 3}), moves = Zeros(runtime, {1, 18, 3, 3});
  ExpectRefused("DeformConv", {x, w, Zeros(runtime, {1, 18, 5, 5})}, {},
                {"Offset needs the size of the result.", "5", "3"});
  ExpectRefused("DeformConv", {x, w, Zeros(runtime, {1, 17, 3, 3})}, {},
                {"Offset needs two channels for each tap", "17"});
  ExpectRefused("DeformConv", {x, Zeros(runtime, {2, 3, 3, 3}), moves}, {},
                {"must be a multiple of those of Weight", "4", "3"});
  ExpectRefused("DeformConv", {x, w, moves}, {{"stride", {1}}}, {"Attribute stride has 1 numbers; it needs 2"});
  ExpectRefused("DeformConv", {x, w, moves}, {{"dilation", {0, 1}}}, {"Attribute dilation is [0, 1]", "at least 1"});
  ExpectRefused("DeformConv", {x, w, moves}, {{"dilation", {3, 1}}}, {"The window reaches over 7 pixels", "X has 5"});
  ExpectRefused("DeformConv", {x, w, moves, Zeros(runtime, {3})}, {},
                {"Bias and Weight need the same outputs.", "3", "2"});
  ExpectRefused("DeformConv", {x, w, moves, {}, Zeros(runtime, {1, 8, 3, 3})}, {}, {"for each one of Mask", "18"});
}

}  // namespace
}  // namespace tenon
