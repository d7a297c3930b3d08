// Erf and its gradient. Listed values from PyTorch 2.15 in float64, special ones by hand from the definition.
#include <gtest/gtest.h>

#include <limits>

#include "tests/support/op_case.h"

namespace tenon::testing {
namespace {

TEST(Erf, FollowsPyTorch) {
  CheckCase({.op = "Erf",
             .inputs = {F32({10}, {-40, -3.5, -1.25, -0.3, -0.01, 0.02, 0.4, 1.5, 2.75, 60})},
             .expect = {F32({10}, {-1, -0.9999993, -0.9229001, -0.3286268, -0.01128342, 0.02256457, 0.4283924,
                                   0.9661051, 0.9998994, 1})},
             .symbolic = true});
  CheckCase({.op = "Erf", .inputs = {F32({0, 2}, {})}, .expect = {F32({0, 2}, {})}});
}

TEST(Erf, GradientFollowsPyTorch) {
  CheckCase({.op = "ErfGrad",
             .inputs = {F32({10}, {1, -2, 0.5, 1.5, -1, 2, -0.25, 3, 1, -1.5}),
                        F32({10}, {-40, -3.5, -1.25, -0.3, -0.01, 0.02, 0.4, 1.5, 2.75, 60})},
             .expect = {F32({10}, {0, -1.079885e-05, 0.1182606, 1.546891, -1.128266, 2.255856, -0.2403853, 0.3567909,
                                   0.0005862772, -0})},
             .domain = "tenon"});
}

TEST(Erf, SpecialValues) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN(), kInf = std::numeric_limits<double>::infinity();
  CheckCase({.op = "Erf",
             .inputs = {F32({4}, {kNan, -kInf, kInf, 0})},
             .expect = {F32({4}, {kNan, -1, 1, 0})},
             .gradient = {-1}});
  CheckCase({.op = "ErfGrad",
             .inputs = {F32({4}, {1, 1, 1, 1}), F32({4}, {kNan, -kInf, kInf, 0})},
             .expect = {F32({4}, {kNan, 0, 0, 1.128379})},
             .domain = "tenon",
             .gradient = {-1}});
}

}  // namespace
}  // namespace tenon::testing
