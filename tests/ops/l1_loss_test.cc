// tenon.L1Loss and its gradient. Listed values from PyTorch 2.15 in float64.
#include <gtest/gtest.h>

#include <limits>

#include "tests/support/op_case.h"

namespace tenon::testing {
namespace {

const Tensor kX = F32({2, 3}, {0.5, -1.25, 2, 0.1, 3.5, -0.75}), kT = F32({2, 3}, {0.25, -1, -1.5, 0.6, 3.5, 1});

TEST(L1Loss, FollowsPyTorch) {
  CheckCase({.op = "L1Loss",
             .inputs = {kX, kT},
             .expect = {F32({}, {1.041667})},
             .attrs = {{"reduction", std::string("mean")}},
             .domain = "tenon",
             .gradient = {-1},
             .symbolic = true});
  CheckCase({.op = "L1LossGrad",
             .inputs = {F32({}, {1.5}), kX, kT},
             .expect = {F32({2, 3}, {0.25, -0.25, 0.25, -0.25, 0, -0.25})},
             .attrs = {{"reduction", std::string("mean")}},
             .domain = "tenon"});
  CheckCase({.op = "L1Loss",
             .inputs = {kX, kT},
             .expect = {F32({}, {6.25})},
             .attrs = {{"reduction", std::string("sum")}},
             .domain = "tenon",
             .gradient = {-1},
             .symbolic = true});
  CheckCase({.op = "L1LossGrad",
             .inputs = {F32({}, {1.5}), kX, kT},
             .expect = {F32({2, 3}, {1.5, -1.5, 1.5, -1.5, 0, -1.5})},
             .attrs = {{"reduction", std::string("sum")}},
             .domain = "tenon"});
  CheckCase({.op = "L1Loss",
             .inputs = {kX, kT},
             .expect = {F32({2, 3}, {0.25, 0.25, 3.5, 0.5, 0, 1.75})},
             .attrs = {{"reduction", std::string("none")}},
             .domain = "tenon",
             .gradient = {-1},
             .symbolic = true});
  CheckCase({.op = "L1LossGrad",
             .inputs = {F32({2, 3}, {1, -2, 0.5, 2, 1, -1}), kX, kT},
             .expect = {F32({2, 3}, {1, 2, 0.5, -2, 0, 1})},
             .attrs = {{"reduction", std::string("none")}},
             .domain = "tenon"});
  // Away from the corner, by both inputs.
  CheckCase({.op = "L1Loss",
             .inputs = {Random({3, 2}), Random({3, 2}, 2, 3)},
             .expect = {},
             .domain = "tenon",
             .gradient = {0, 1}});
}

TEST(L1Loss, EmptyMeanIsNaN) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  CheckCase({.op = "L1Loss",
             .inputs = {F32({0, 2}, {}), F32({0, 2}, {})},
             .expect = {F32({}, {kNan})},
             .domain = "tenon",
             .gradient = {-1}});
}

TEST(L1Loss, NamesWhatIsWrong) {
  CheckFails({.op = "L1Loss", .inputs = {kX, Random({2, 2})}, .expect = {}, .domain = "tenon"},
             "predictions have shape [2,3] and targets [2,2]; both must be the same.");
  CheckFails({.op = "L1Loss",
              .inputs = {kX, kT},
              .expect = {},
              .attrs = {{"reduction", std::string("average")}},
              .domain = "tenon"},
             "reduction is 'average'; it can be none, sum or mean.");
}

}  // namespace
}  // namespace tenon::testing
