// tenon.BinaryCrossEntropyWithLogitsLoss and its gradient. Listed values from PyTorch 2.15 in float64.
#include <gtest/gtest.h>

#include <limits>

#include "tests/support/op_case.h"

namespace tenon::testing {
namespace {

const Tensor kX = F32({2, 3}, {0.5, -1.25, 20, 0.1, 3.5, -0.75}), kT = F32({2, 3}, {0, 1, 1, 0.5, 0, 1});

TEST(BinaryCrossEntropyWithLogitsLoss, FollowsPyTorch) {
  CheckCase({.op = "BinaryCrossEntropyWithLogitsLoss",
             .inputs = {kX, kT},
             .expect = {F32({}, {1.306171})},
             .attrs = {{"reduction", std::string("mean")}},
             .domain = "tenon",
             .gradient = {0},
             .symbolic = true});
  CheckCase({.op = "BinaryCrossEntropyWithLogitsLossGrad",
             .inputs = {F32({}, {1.5}), kX, kT},
             .expect = {F32({2, 3}, {0.1556148, -0.194325, -5.152884e-10, 0.006244797, 0.2426719, -0.1697947})},
             .attrs = {{"reduction", std::string("mean")}},
             .domain = "tenon"});
  CheckCase({.op = "BinaryCrossEntropyWithLogitsLoss",
             .inputs = {kX, kT},
             .expect = {F32({}, {7.837024})},
             .attrs = {{"reduction", std::string("sum")}},
             .domain = "tenon",
             .gradient = {0},
             .symbolic = true});
  CheckCase({.op = "BinaryCrossEntropyWithLogitsLossGrad",
             .inputs = {F32({}, {1.5}), kX, kT},
             .expect = {F32({2, 3}, {0.933689, -1.16595, -3.091731e-09, 0.03746878, 1.456032, -1.018768})},
             .attrs = {{"reduction", std::string("sum")}},
             .domain = "tenon"});
  CheckCase({.op = "BinaryCrossEntropyWithLogitsLoss",
             .inputs = {kX, kT},
             .expect = {F32({2, 3}, {0.974077, 1.501929, 2.061154e-09, 0.6943967, 3.52975, 1.136871})},
             .attrs = {{"reduction", std::string("none")}},
             .domain = "tenon",
             .gradient = {0},
             .symbolic = true});
  CheckCase({.op = "BinaryCrossEntropyWithLogitsLossGrad",
             .inputs = {F32({2, 3}, {1, -2, 0.5, 2, 1, -1}), kX, kT},
             .expect = {F32({2, 3}, {0.6224593, 1.5546, -1.030577e-09, 0.04995837, 0.9706878, 0.6791787})},
             .attrs = {{"reduction", std::string("none")}},
             .domain = "tenon"});
  const Tensor pos_weight = F32({3}, {2, 0.5, 1.5});
  CheckCase({.op = "BinaryCrossEntropyWithLogitsLoss",
             .inputs = {kX, kT, pos_weight},
             .expect = {F32({}, {1.329449})},
             .domain = "tenon",
             .gradient = {0}});
  CheckCase({.op = "BinaryCrossEntropyWithLogitsLossGrad",
             .inputs = {F32({}, {1}), kX, kT, pos_weight},
             .expect = {F32({2, 3}, {0.1037432, -0.06477499, -5.152884e-10, -0.03542187, 0.1617813, -0.1697947})},
             .domain = "tenon"});
  // Far from zero nothing overflows.
  CheckCase({.op = "BinaryCrossEntropyWithLogitsLoss",
             .inputs = {F32({2}, {-1000, 1000}), F32({2}, {1, 0})},
             .expect = {F32({}, {1000})},
             .domain = "tenon",
             .gradient = {-1},
             .other_floats = false});
}

TEST(BinaryCrossEntropyWithLogitsLoss, EmptyMeanIsNaN) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  CheckCase({.op = "BinaryCrossEntropyWithLogitsLoss",
             .inputs = {F32({0, 2}, {}), F32({0, 2}, {})},
             .expect = {F32({}, {kNan})},
             .domain = "tenon",
             .gradient = {-1}});
}

TEST(BinaryCrossEntropyWithLogitsLoss, NamesWhatIsWrong) {
  CheckFails(
      {.op = "BinaryCrossEntropyWithLogitsLoss", .inputs = {kX, Random({2, 2})}, .expect = {}, .domain = "tenon"},
      "predictions have shape [2,3] and targets [2,2]; both must be the same.");
  CheckFails({.op = "BinaryCrossEntropyWithLogitsLoss",
              .inputs = {kX, kT},
              .expect = {},
              .attrs = {{"reduction", std::string("average")}},
              .domain = "tenon"},
             "reduction is 'average'; it can be none, sum or mean.");
  CheckFails(
      {.op = "BinaryCrossEntropyWithLogitsLoss", .inputs = {kX, kT, Random({2})}, .expect = {}, .domain = "tenon"},
      "Shapes [2,3] and [2] do not broadcast: 3 against 2.");
}

}  // namespace
}  // namespace tenon::testing
