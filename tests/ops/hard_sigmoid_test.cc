// HardSigmoid and its gradient. Listed values from the definition, computed with PyTorch 2.15 in float64.
#include <gtest/gtest.h>

#include <limits>

#include "tests/support/op_case.h"

namespace tenon::testing {
namespace {

TEST(HardSigmoid, FollowsPyTorch) {
  CheckCase({.op = "HardSigmoid",
             .inputs = {F32({10}, {-40, -3.5, -1.25, -0.3, -0.01, 0.02, 0.4, 1.5, 2.75, 60})},
             .expect = {F32({10}, {0, 0, 0.25, 0.44, 0.498, 0.504, 0.58, 0.8, 1, 1})},
             .symbolic = true});
  CheckCase({.op = "HardSigmoid",
             .inputs = {F32({4}, {-2, -0.5, 0.25, 1.5})},
             .expect = {F32({4}, {0.1666667, 0.4166667, 0.5416667, 0.75})},
             .attrs = {{"alpha", 1.0 / 6}}});
  CheckCase({.op = "HardSigmoid", .inputs = {F32({0, 2}, {})}, .expect = {F32({0, 2}, {})}});
}

TEST(HardSigmoid, GradientFollowsPyTorch) {
  CheckCase({.op = "HardSigmoidGrad",
             .inputs = {F32({10}, {1, -2, 0.5, 1.5, -1, 2, -0.25, 3, 1, -1.5}),
                        F32({10}, {-40, -3.5, -1.25, -0.3, -0.01, 0.02, 0.4, 1.5, 2.75, 60})},
             .expect = {F32({10}, {0, 0, 0.1, 0.3, -0.2, 0.4, -0.05, 0.6, 0, 0})},
             .domain = "tenon",
             .gradient = {0}});
}

TEST(HardSigmoid, SpecialValues) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN(), kInf = std::numeric_limits<double>::infinity();
  CheckCase({.op = "HardSigmoid",
             .inputs = {F32({5}, {kNan, -kInf, kInf, -2.5, 2.5})},
             .expect = {F32({5}, {kNan, 0, 1, 0, 1})},
             .gradient = {-1}});
  CheckCase({.op = "HardSigmoidGrad",
             .inputs = {F32({5}, {1, 1, 1, 1, 1}), F32({5}, {kNan, -kInf, kInf, -2.5, 2.5})},
             .expect = {F32({5}, {0.2, 0, 0, 0, 0})},
             .domain = "tenon",
             .gradient = {-1}});
}

}  // namespace
}  // namespace tenon::testing
