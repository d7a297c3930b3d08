#include <gtest/gtest.h>

#include <cmath>

#include "tests/ops_custom/custom_case.h"

namespace tenon {
namespace {

using namespace testing_support;

constexpr char kOp[] = "org.tenon.custom.CTCLoss";

TEST(CtcLoss, IsThatOfPyTorch) { CheckCases("ctc_loss"); }

// Two steps, one label: a a, a -, - a spell it. (Graves et al., eq. 3: the sum over all ways.)
TEST(CtcLoss, AddsAllWaysUp) {
  OnEachRuntime([](const api::Runtime& runtime) {
    const auto log_probs =
        api::Tensor::Of<float>(runtime, {2, 1, 2}, {std::log(0.25f), std::log(0.75f), std::log(0.5f), std::log(0.5f)});
    const auto of = [&](std::int64_t value) { return api::Tensor::Of<std::int64_t>(runtime, {1}, {value}); };
    const auto y = api::Op(kOp, {log_probs, api::Tensor::Of<std::int64_t>(runtime, {1, 1}, {1}), of(2), of(1)});
    EXPECT_NEAR(y.Values<float>()[0], -std::log(0.75 * 0.5 + 0.75 * 0.5 + 0.25 * 0.5), 1e-6);
  });
}

// What cannot be spelt costs infinity; no label at all is the blank at each step.
TEST(CtcLoss, Ends) {
  OnEachRuntime([](const api::Runtime& runtime) {
    const auto log_probs = api::Op("LogSoftmax", {api::Tensor::Of(runtime, {2, 2, 3}, Numbers(12))}, {{"axis", -1}});
    const auto targets = api::Tensor::Of<std::int64_t>(runtime, {2, 2}, {1, 1, 2, 2});
    const auto of = [&](const std::vector<std::int64_t>& values) { return api::Tensor::Of(runtime, {2}, values); };
    const auto y = api::Op(kOp, {log_probs, targets, of({2, 2}), of({2, 0})}, {{"reduction", "none"}});
    const std::vector<float> losses = y.Values<float>(), steps = log_probs.Values<float>();
    EXPECT_EQ(losses[0], std::numeric_limits<float>::infinity());
    EXPECT_NEAR(losses[1], -(steps[3] + steps[9]), 1e-6);
  });
}

TEST(CtcLoss, RefusesWrongCalls) {
  const api::Runtime& runtime = AnyRuntime();
  const auto x = api::Tensor::Of(runtime, {4, 1, 3}, Numbers(12));
  const auto targets = [&](std::int64_t label) { return api::Tensor::Of<std::int64_t>(runtime, {1, 2}, {1, label}); };
  const auto of = [&](std::int64_t value) { return api::Tensor::Of<std::int64_t>(runtime, {1}, {value}); };
  ExpectRefused("CTCLoss", {x, targets(3), of(4), of(2)}, {}, {"Targets[0, 1] is 3; LogProbs has 3 classes."});
  ExpectRefused("CTCLoss", {x, targets(0), of(4), of(2)}, {}, {"Targets[0, 1] is 0, which is the blank."});
  ExpectRefused("CTCLoss", {x, targets(2), of(5), of(2)}, {}, {"InputLengths[0] is 5; LogProbs has 4 steps."});
  ExpectRefused("CTCLoss", {x, targets(2), of(4), of(3)}, {}, {"TargetLengths[0] is 3; Targets has 2 labels."});
  ExpectRefused("CTCLoss", {x, targets(2), of(4), of(2)}, {{"blank", 3}}, {"Attribute blank is 3", "3 classes"});
  const auto two = api::Tensor::Of<std::int64_t>(runtime, {2}, {4, 4});
  ExpectRefused("CTCLoss", {x, targets(2), two, of(2)}, {},
                {"LogProbs and InputLengths need the same batch.", "1", "2"});
}

}  // namespace
}  // namespace tenon
