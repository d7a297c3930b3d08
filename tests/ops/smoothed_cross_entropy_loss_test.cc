// tenon.SmoothedCrossEntropyLoss and its gradient. Listed values from PyTorch 2.15 in float64 (cross_entropy).
#include <gtest/gtest.h>

#include "tests/support/op_case.h"

namespace tenon::testing {
namespace {

const Tensor kScores = F32({4, 3}, {1, -0.5, 0.25, 0.3, 2, -1, 0, 0.75, 1.5, -2, 0.5, 0.1});
const Tensor kLabels = I64({4}, {2, 1, 0, 1}), kWeights = F32({3}, {1, 0.5, 2});

TEST(SmoothedCrossEntropyLoss, FollowsPyTorch) {
  CheckCase({.op = "SmoothedCrossEntropyLoss",
             .inputs = {kScores, kLabels},
             .expect = {F32({}, {1.108157})},
             .attrs = {{"label_smoothing", 0.2}, {"reduction", std::string("mean")}},
             .domain = "tenon",
             .gradient = {0}});
  CheckCase({.op = "SmoothedCrossEntropyLoss",
             .inputs = {kScores, kLabels, kWeights},
             .expect = {F32({}, {1.396177})},
             .attrs = {{"label_smoothing", 0.2}, {"reduction", std::string("mean")}, {"ignore_index", std::int64_t{1}}},
             .domain = "tenon",
             .gradient = {0}});
  CheckCase({.op = "SmoothedCrossEntropyLoss",
             .inputs = {kScores, kLabels},
             .expect = {F32({}, {4.432628})},
             .attrs = {{"label_smoothing", 0.2}, {"reduction", std::string("sum")}},
             .domain = "tenon",
             .gradient = {0}});
  CheckCase({.op = "SmoothedCrossEntropyLoss",
             .inputs = {kScores, kLabels, kWeights},
             .expect = {F32({}, {4.18853})},
             .attrs = {{"label_smoothing", 0.2}, {"reduction", std::string("sum")}, {"ignore_index", std::int64_t{1}}},
             .domain = "tenon",
             .gradient = {0}});
  CheckCase({.op = "SmoothedCrossEntropyLoss",
             .inputs = {kScores, kLabels},
             .expect = {F32({4}, {1.277976, 0.5223541, 1.877976, 0.7543225})},
             .attrs = {{"label_smoothing", 0.2}, {"reduction", std::string("none")}},
             .domain = "tenon",
             .gradient = {0}});
  CheckCase({.op = "SmoothedCrossEntropyLoss",
             .inputs = {kScores, kLabels, kWeights},
             .expect = {F32({4}, {2.317956, 0, 1.870575, 0})},
             .attrs = {{"label_smoothing", 0.2}, {"reduction", std::string("none")}, {"ignore_index", std::int64_t{1}}},
             .domain = "tenon",
             .gradient = {0}});
  CheckCase({.op = "SmoothedCrossEntropyLoss",
             .inputs = {F32({2, 3, 2}, {0, 0.841471, 0.9092974, 0.14112, -0.7568025, -0.9589243, -0.2794155, 0.6569866,
                                        0.9893582, 0.4121185, -0.5440211, -0.9999902}),
                        I64({2, 2}, {0, 2, 1, 1})},
             .expect = {F32({}, {1.267899})},
             .attrs = {{"label_smoothing", 0.2}, {"reduction", std::string("mean")}},
             .domain = "tenon",
             .gradient = {0}});
}

TEST(SmoothedCrossEntropyLoss, GradientFollowsPyTorch) {
  CheckCase({.op = "SmoothedCrossEntropyLossGrad",
             .inputs = {F32({}, {1}),
                        F32({4, 3}, {-0.5279757, -2.027976, -1.277976, -1.909021, -0.2090208, -3.209021, -2.027976,
                                     -1.277976, -0.5279757, -3.060989, -0.5609892, -0.9609892}),
                        kLabels, kWeights},
             .expect = {F32({4, 3},
                            {0.3382097, 0.06931212, -0.4075218, 0, 0, 0, -0.2435594, 0.08485135, 0.1587081, 0, 0, 0})},
             .attrs = {{"label_smoothing", 0.2}, {"ignore_index", std::int64_t{1}}},
             .domain = "tenon"});
}

TEST(SmoothedCrossEntropyLoss, IsSoftmaxCrossEntropyWithoutSmoothing) {
  const Tensor plain = Outputs({.op = "SoftmaxCrossEntropyLoss", .inputs = {kScores, kLabels}, .expect = {}})[0];
  CheckCase({.op = "SmoothedCrossEntropyLoss",
             .inputs = {kScores, kLabels},
             .expect = {plain},
             .attrs = {{"label_smoothing", 0.0}},
             .domain = "tenon"});
}

TEST(SmoothedCrossEntropyLoss, NamesWhatIsWrong) {
  CheckFails({.op = "SmoothedCrossEntropyLoss",
              .inputs = {kScores, kLabels},
              .expect = {},
              .attrs = {{"label_smoothing", 1.5}},
              .domain = "tenon"},
             "label_smoothing is 1.5; it must be in [0, 1].");
}

}  // namespace
}  // namespace tenon::testing
