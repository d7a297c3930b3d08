#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

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

// Of one head and width 1: the definition and its derivatives in double precision.
struct Expected {
  std::vector<double> y, dq, dk, dv;
};
Expected Define(const std::vector<float>& q, const std::vector<float>& k, const std::vector<float>& v,
                const std::vector<float>& dy) {
  Expected e{std::vector<double>(q.size()), std::vector<double>(q.size()), std::vector<double>(k.size()),
             std::vector<double>(k.size())};
  for (std::size_t i = 0; i < q.size(); ++i) {
    std::vector<double> p(k.size());
    double top = -1e300, sum = 0;
    for (const float key : k) top = std::max(top, static_cast<double>(q[i]) * key);
    for (std::size_t j = 0; j < k.size(); ++j) sum += p[j] = std::exp(static_cast<double>(q[i]) * k[j] - top);
    for (std::size_t j = 0; j < k.size(); ++j) e.y[i] += (p[j] /= sum) * v[j];
    for (std::size_t j = 0; j < k.size(); ++j) {
      const double ds = p[j] * dy[i] * (v[j] - e.y[i]);
      e.dv[j] += p[j] * dy[i];
      e.dq[i] += ds * k[j];
      e.dk[j] += ds * q[i];
    }
  }
  return e;
}

// The largest score of a query may come late: scores that rise or fall from block to block of keys, slowly and by much.
TEST(Attention, TakesScoresOfAnySizeInAnyOrder) {
  constexpr std::int64_t kQueries = 70, kKeys = 200;
  const std::vector<float> q = Numbers(kQueries), v = Numbers(kKeys, 2), dy = Numbers(kQueries, 3);
  for (const float step : {0.01f, 0.3f, 2.0f}) {
    std::vector<float> k;
    for (std::int64_t j = 0; j < kKeys; ++j) k.push_back(step * static_cast<float>(j));
    const Expected expected = Define(q, k, v, dy);
    OnEachRuntime([&](const api::Runtime& runtime) {
      const auto leaf = [&](const std::vector<float>& x) {
        return api::Tensor::Of(runtime, {1, 1, static_cast<std::int64_t>(x.size()), 1}, x).RequireGradient();
      };
      const auto near = [&](const api::Tensor& got, const std::vector<double>& want, const char* name) {
        const std::vector<float> values = got.Values<float>();
        ASSERT_EQ(values.size(), want.size());
        double largest = 0;
        for (const double x : want) largest = std::max(largest, std::abs(x));
        for (std::size_t i = 0; i < want.size(); ++i)
          EXPECT_NEAR(values[i], want[i], 1e-4 * largest) << name << " " << i << ", step " << step;
      };
      const std::vector<api::Tensor> inputs = {leaf(q), leaf(k), leaf(v)};
      const auto y = api::Op(kOp, inputs);
      near(y, expected.y, "y");
      const auto gradients = api::Gradients(Weighted(runtime, y, dy), inputs);
      near(gradients[0], expected.dq, "dq");
      near(gradients[1], expected.dk, "dk");
      near(gradients[2], expected.dv, "dv");
    });
  }
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
