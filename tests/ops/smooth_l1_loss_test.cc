// tenon.SmoothL1Loss and its gradient. Listed values from PyTorch 2.15 in float64.
#include <gtest/gtest.h>

#include <limits>

#include "tests/support/op_case.h"

namespace tenon::testing {
namespace {

const Tensor kX = F32({2, 3}, {0.5, -1.25, 2, 0.1, 3.5, -0.75}), kT = F32({2, 3}, {0.25, -1, -1.5, 0.6, 3.5, 1});

TEST(SmoothL1Loss, FollowsPyTorch) {
  CheckCase({.op = "SmoothL1Loss",
             .inputs = {kX, kT},
             .expect = {F32({}, {0.7916667})},
             .attrs = {{"reduction", std::string("mean")}, {"beta", 0.75}},
             .domain = "tenon",
             .gradient = {0, 1},
             .symbolic = true});
  CheckCase({.op = "SmoothL1LossGrad",
             .inputs = {F32({}, {1.5}), kX, kT},
             .expect = {F32({2, 3}, {0.08333333, -0.08333333, 0.25, -0.1666667, 0, -0.25})},
             .attrs = {{"reduction", std::string("mean")}, {"beta", 0.75}},
             .domain = "tenon"});
  CheckCase({.op = "SmoothL1Loss",
             .inputs = {kX, kT},
             .expect = {F32({}, {4.75})},
             .attrs = {{"reduction", std::string("sum")}, {"beta", 0.75}},
             .domain = "tenon",
             .gradient = {0, 1},
             .symbolic = true});
  CheckCase({.op = "SmoothL1LossGrad",
             .inputs = {F32({}, {1.5}), kX, kT},
             .expect = {F32({2, 3}, {0.5, -0.5, 1.5, -1, 0, -1.5})},
             .attrs = {{"reduction", std::string("sum")}, {"beta", 0.75}},
             .domain = "tenon"});
  CheckCase({.op = "SmoothL1Loss",
             .inputs = {kX, kT},
             .expect = {F32({2, 3}, {0.04166667, 0.04166667, 3.125, 0.1666667, 0, 1.375})},
             .attrs = {{"reduction", std::string("none")}, {"beta", 0.75}},
             .domain = "tenon",
             .gradient = {0, 1},
             .symbolic = true});
  CheckCase({.op = "SmoothL1LossGrad",
             .inputs = {F32({2, 3}, {1, -2, 0.5, 2, 1, -1}), kX, kT},
             .expect = {F32({2, 3}, {0.3333333, 0.6666667, 0.5, -1.333333, 0, 1})},
             .attrs = {{"reduction", std::string("none")}, {"beta", 0.75}},
             .domain = "tenon"});
  CheckCase({.op = "SmoothL1Loss",
             .inputs = {kX, kT},
             .expect = {F32({}, {1.041667})},
             .attrs = {{"beta", 0.0}},
             .domain = "tenon",
             .gradient = {-1}});
}

TEST(SmoothL1Loss, EmptyMeanIsNaN) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  CheckCase({.op = "SmoothL1Loss",
             .inputs = {F32({0, 2}, {}), F32({0, 2}, {})},
             .expect = {F32({}, {kNan})},
             .domain = "tenon",
             .gradient = {-1}});
}

TEST(SmoothL1Loss, NamesWhatIsWrong) {
  CheckFails({.op = "SmoothL1Loss", .inputs = {kX, Random({2, 2})}, .expect = {}, .domain = "tenon"},
             "predictions have shape [2,3] and targets [2,2]; both must be the same.");
  CheckFails({.op = "SmoothL1Loss",
              .inputs = {kX, kT},
              .expect = {},
              .attrs = {{"reduction", std::string("average")}},
              .domain = "tenon"},
             "reduction is 'average'; it can be none, sum or mean.");
  CheckFails({.op = "SmoothL1Loss", .inputs = {kX, kT}, .expect = {}, .attrs = {{"beta", -1.0}}, .domain = "tenon"},
             "SmoothL1Loss beta is -1; it cannot be negative.");
}

}  // namespace
}  // namespace tenon::testing
