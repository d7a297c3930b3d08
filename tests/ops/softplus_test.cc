// Softplus and its gradient. Listed values from PyTorch 2.15 in float64, special ones by hand from the definition.
#include <gtest/gtest.h>

#include <limits>

#include "tests/support/op_case.h"

namespace tenon::testing {
namespace {

TEST(Softplus, FollowsPyTorch) {
  CheckCase({.op = "Softplus",
             .inputs = {F32({10}, {-40, -3.5, -1.25, -0.3, -0.01, 0.02, 0.4, 1.5, 2.75, 60})},
             .expect = {F32({10}, {4.248354e-18, 0.02975042, 0.2519291, 0.5543552, 0.6881597, 0.7031972, 0.9130153,
                                   1.701413, 2.811968, 60})},
             .symbolic = true});
  CheckCase({.op = "Softplus", .inputs = {F32({0, 2}, {})}, .expect = {F32({0, 2}, {})}});
}

TEST(Softplus, GradientFollowsPyTorch) {
  CheckCase({.op = "SoftplusGrad",
             .inputs = {F32({10}, {1, -2, 0.5, 1.5, -1, 2, -0.25, 3, 1, -1.5}),
                        F32({10}, {-40, -3.5, -1.25, -0.3, -0.01, 0.02, 0.4, 1.5, 2.75, 60})},
             .expect = {F32({10}, {4.248354e-18, -0.05862446, 0.1113501, 0.6383362, -0.4975, 1.01, -0.1496719, 2.452723,
                                   0.9399133, -1.5})},
             .domain = "tenon"});
}

TEST(Softplus, SpecialValues) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN(), kInf = std::numeric_limits<double>::infinity();
  CheckCase({.op = "Softplus",
             .inputs = {F32({5}, {kNan, -kInf, kInf, 1000, -1000})},
             .expect = {F32({5}, {kNan, 0, kInf, 1000, 0})},
             .gradient = {-1}});
  CheckCase({.op = "SoftplusGrad",
             .inputs = {F32({5}, {1, 1, 1, 1, 1}), F32({5}, {kNan, -kInf, kInf, 1000, -1000})},
             .expect = {F32({5}, {kNan, 0, 1, 1, 0})},
             .domain = "tenon",
             .gradient = {-1}});
}

}  // namespace
}  // namespace tenon::testing
