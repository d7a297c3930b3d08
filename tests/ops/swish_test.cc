// Swish and its gradient. Listed values from PyTorch 2.15 in float64 (silu), special ones by hand from the definition.
#include <gtest/gtest.h>

#include <limits>

#include "tests/support/op_case.h"

namespace tenon::testing {
namespace {

TEST(Swish, FollowsPyTorch) {
  CheckCase({.op = "Swish",
             .inputs = {F32({10}, {-40, -3.5, -1.25, -0.3, -0.01, 0.02, 0.4, 1.5, 2.75, 60})},
             .expect = {F32({10}, {-1.699342e-16, -0.1025928, -0.2783752, -0.1276672, -0.004975, 0.0101, 0.2394751,
                                   1.226362, 2.584762, 60})},
             .symbolic = true});
  CheckCase({.op = "Swish",
             .inputs = {F32({4}, {-2, -0.5, 0.25, 1.5})},
             .expect = {F32({4}, {-0.09485175, -0.1604107, 0.1481666, 1.356976})},
             .attrs = {{"alpha", 1.5}}});
  CheckCase({.op = "SwishGrad",
             .inputs = {Random({5}), Random({5}, -2, 2, 3)},
             .expect = {},
             .attrs = {{"alpha", 1.5}},
             .domain = "tenon"});
  CheckCase({.op = "Swish", .inputs = {F32({0, 2}, {})}, .expect = {F32({0, 2}, {})}});
}

TEST(Swish, GradientFollowsPyTorch) {
  CheckCase({.op = "SwishGrad",
             .inputs = {F32({10}, {1, -2, 0.5, 1.5, -1, 2, -0.25, 3, 1, -1.5}),
                        F32({10}, {-40, -3.5, -1.25, -0.3, -0.01, 0.02, 0.4, 1.5, 2.75, 60})},
             .expect = {F32({10}, {-1.656858e-16, 0.1405467, 0.003159578, 0.52833, -0.4950001, 1.019999, -0.173698,
                                   3.123882, 1.095223, -1.5})},
             .domain = "tenon"});
}

TEST(Swish, SpecialValues) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN(), kInf = std::numeric_limits<double>::infinity();
  CheckCase({.op = "Swish",
             .inputs = {F32({4}, {kNan, kInf, 1000, -1000})},
             .expect = {F32({4}, {kNan, kInf, 1000, 0})},
             .gradient = {-1}});
  CheckCase({.op = "SwishGrad",
             .inputs = {F32({4}, {1, 1, 1, 1}), F32({4}, {kNan, kInf, 1000, -1000})},
             .expect = {F32({4}, {kNan, kNan, 1, 0})},
             .domain = "tenon",
             .gradient = {-1}});
}

}  // namespace
}  // namespace tenon::testing
