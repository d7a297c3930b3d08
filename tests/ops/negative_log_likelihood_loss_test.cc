// NegativeLogLikelihoodLoss and its gradient. Listed values from PyTorch 2.15 in float64 (nll_loss), small ones by hand.
#include <gtest/gtest.h>

#include <limits>

#include "tests/support/op_case.h"

namespace tenon::testing {
namespace {

const Tensor kScores = F32({4, 3}, {-0.5279757, -2.027976, -1.277976, -1.909021, -0.2090208, -3.209021, -2.027976,
                                    -1.277976, -0.5279757, -3.060989, -0.5609892, -0.9609892});
const Tensor kLabels = I64({4}, {2, 1, 0, 1}), kWeights = F32({3}, {1, 0.5, 2});

TEST(NegativeLogLikelihoodLoss, FollowsPyTorch) {
  CheckCase({.op = "NegativeLogLikelihoodLoss",
             .inputs = {kScores, kLabels},
             .expect = {F32({}, {1.01899})},
             .attrs = {{"reduction", std::string("mean")}},
             .gradient = {0}});
  CheckCase({.op = "NegativeLogLikelihoodLoss",
             .inputs = {kScores, kLabels, kWeights},
             .expect = {F32({}, {1.527976})},
             .attrs = {{"reduction", std::string("mean")}, {"ignore_index", std::int64_t{1}}},
             .gradient = {0}});
  CheckCase({.op = "NegativeLogLikelihoodLoss",
             .inputs = {kScores, kLabels},
             .expect = {F32({}, {4.075961})},
             .attrs = {{"reduction", std::string("sum")}},
             .gradient = {0}});
  CheckCase({.op = "NegativeLogLikelihoodLoss",
             .inputs = {kScores, kLabels, kWeights},
             .expect = {F32({}, {4.583927})},
             .attrs = {{"reduction", std::string("sum")}, {"ignore_index", std::int64_t{1}}},
             .gradient = {0}});
  CheckCase({.op = "NegativeLogLikelihoodLoss",
             .inputs = {kScores, kLabels},
             .expect = {F32({4}, {1.277976, 0.2090208, 2.027976, 0.5609892})},
             .attrs = {{"reduction", std::string("none")}},
             .gradient = {0}});
  CheckCase({.op = "NegativeLogLikelihoodLoss",
             .inputs = {kScores, kLabels, kWeights},
             .expect = {F32({4}, {2.555951, 0, 2.027976, 0})},
             .attrs = {{"reduction", std::string("none")}, {"ignore_index", std::int64_t{1}}},
             .gradient = {0}});
  CheckCase({.op = "NegativeLogLikelihoodLoss",
             .inputs = {F32({2, 3, 2}, {-1.374156, -0.5078078, -0.464859, -1.208159, -2.130959, -2.308203, -1.672224,
                                        -0.67982, -0.4034507, -0.9246881, -1.93683, -2.336797}),
                        I64({2, 2}, {0, 2, 1, 1})},
             .expect = {F32({}, {1.252625})},
             .attrs = {{"reduction", std::string("mean")}},
             .gradient = {0}});
}

TEST(NegativeLogLikelihoodLoss, IgnoresLabels) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  // An ignored label need not be a class; none that counts gives 0 / 0.
  CheckCase({.op = "NegativeLogLikelihoodLoss",
             .inputs = {F32({2, 2}, {-1, -2, -3, -4}), I32({2}, {-100, 1})},
             .expect = {F32({}, {4})},
             .attrs = {{"ignore_index", std::int64_t{-100}}}});
  CheckCase({.op = "NegativeLogLikelihoodLoss",
             .inputs = {F32({1, 2}, {-1, -2}), I64({1}, {9})},
             .expect = {F32({}, {kNan})},
             .attrs = {{"ignore_index", std::int64_t{9}}},
             .gradient = {-1}});
}

TEST(NegativeLogLikelihoodLoss, NamesWhatIsWrong) {
  CheckFails({.op = "NegativeLogLikelihoodLoss", .inputs = {kScores, I64({4}, {0, 1, 3, 0})}, .expect = {}},
             "The label of sample 2 is 3; with 3 classes it must be 0 to 2.");
  CheckFails({.op = "NegativeLogLikelihoodLoss", .inputs = {kScores, I64({3}, {0, 1, 2})}, .expect = {}},
             "scores have shape [4,3] and labels [3]; they must be [N, C, D1 ..] and [N, D1 ..].");
  CheckFails({.op = "NegativeLogLikelihoodLoss", .inputs = {kScores, kLabels, Random({2})}, .expect = {}},
             "weights has shape [2]; scores [4,3] need [3].");
}

}  // namespace
}  // namespace tenon::testing
