#include <gtest/gtest.h>

#include <cmath>

#include "tests/ops_custom/custom_case.h"

namespace tenon {
namespace {

using namespace testing_support;

TEST(SwiGlu, IsThatOfPyTorch) { CheckCases("swi_glu"); }

// Large arguments: silu(x) is x, or 0.
TEST(SwiGlu, StaysFinite) {
  OnEachRuntime([](const api::Runtime& runtime) {
    const auto gate = api::Tensor::Of<float>(runtime, {4}, {-1000, -90, 90, 1000});
    const auto up = api::Tensor::Of<float>(runtime, {4}, {1, 1, 2, 3});
    const std::vector<float> y = api::Op("org.tenon.custom.SwiGLU", {gate, up}).Values<float>();
    EXPECT_NEAR(y[0], 0, 1e-30);
    EXPECT_NEAR(y[1], 0, 1e-30);
    EXPECT_FLOAT_EQ(y[2], 180);
    EXPECT_FLOAT_EQ(y[3], 3000);
  });
}

// bf16 is widened, computed in float and rounded once.
TEST(SwiGlu, TakesBf16) {
  OnEachRuntime([](const api::Runtime& runtime) {
    const std::vector<std::uint16_t> gate = {0x3f80, 0xc000, 0x4040}, up = {0x4000, 0x3f80, 0xbf80};  // 1 -2 3, 2 1 -1
    const auto tensor = [&](const std::vector<std::uint16_t>& bits) {
      return api::Tensor::FromHost(runtime, api::DType::kBF16, {3}, bits.data());
    };
    const api::Tensor y = api::Op("org.tenon.custom.SwiGLU", {tensor(gate), tensor(up)});
    std::uint16_t bits[3];
    y.CopyTo(bits, sizeof(bits));
    EXPECT_EQ(bits[0], 0x3fbb);  // 1.4621 is 1.4609 in bf16
    EXPECT_EQ(bits[1], 0xbe74);  // -0.23841: -0.23828
    EXPECT_EQ(bits[2], 0xc037);  // -2.8577: -2.8594
  });
}

TEST(SwiGlu, RefusesOtherShapes) {
  const api::Runtime& runtime = AnyRuntime();
  const auto tensor = [&](const api::Shape& shape, std::int64_t count) {
    return api::Tensor::Of(runtime, shape, Numbers(count));
  };
  ExpectRefused("SwiGLU", {tensor({2, 3}, 6), tensor({2, 4}, 8)}, {},
                {"Gate and Up need the same size on axis 1.", "3", "4"});
  ExpectRefused("SwiGLU", {tensor({2, 3}, 6), tensor({6}, 6)}, {}, {"Up has rank 1, and Gate rank 2."});
}

}  // namespace
}  // namespace tenon
