// HardSwish and its gradient. Listed values from PyTorch 2.15 in float64, special ones by hand from the definition.
#include <gtest/gtest.h>

#include <limits>

#include "tests/support/op_case.h"

namespace tenon::testing {
namespace {

TEST(HardSwish, FollowsPyTorch) {
  CheckCase(
      {.op = "HardSwish",
       .inputs = {F32({10}, {-40, -3.5, -1.25, -0.3, -0.01, 0.02, 0.4, 1.5, 2.75, 60})},
       .expect = {F32({10}, {-0, -0, -0.3645833, -0.135, -0.004983333, 0.01006667, 0.2266667, 1.125, 2.635417, 60})},
       .symbolic = true});
  CheckCase({.op = "HardSwish", .inputs = {F32({0, 2}, {})}, .expect = {F32({0, 2}, {})}});
}

TEST(HardSwish, GradientFollowsPyTorch) {
  CheckCase({.op = "HardSwishGrad",
             .inputs = {F32({10}, {1, -2, 0.5, 1.5, -1, 2, -0.25, 3, 1, -1.5}),
                        F32({10}, {-40, -3.5, -1.25, -0.3, -0.01, 0.02, 0.4, 1.5, 2.75, 60})},
             .expect = {F32({10}, {0, 0, 0.04166667, 0.6, -0.4966667, 1.013333, -0.1583333, 3, 1.416667, -1.5})},
             .domain = "tenon"});
}

TEST(HardSwish, SpecialValues) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN(), kInf = std::numeric_limits<double>::infinity();
  CheckCase({.op = "HardSwish",
             .inputs = {F32({5}, {kNan, -kInf, kInf, -3, 3})},
             .expect = {F32({5}, {kNan, 0, kInf, 0, 3})},
             .gradient = {-1}});
  CheckCase({.op = "HardSwishGrad",
             .inputs = {F32({5}, {1, 1, 1, 1, 1}), F32({5}, {kNan, -kInf, kInf, -3, 3})},
             .expect = {F32({5}, {kNan, 0, 1, 0, 1})},
             .domain = "tenon",
             .gradient = {-1}});
}

}  // namespace
}  // namespace tenon::testing
