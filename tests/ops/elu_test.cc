// Elu and its gradient. Listed values from PyTorch 2.15 in float64, special ones by hand from the definition.
#include <gtest/gtest.h>

#include <limits>

#include "tests/support/op_case.h"

namespace tenon::testing {
namespace {

TEST(Elu, FollowsPyTorch) {
  CheckCase({.op = "Elu",
             .inputs = {F32({10}, {-40, -3.5, -1.25, -0.3, -0.01, 0.02, 0.4, 1.5, 2.75, 60})},
             .expect = {F32({10}, {-1, -0.9698026, -0.7134952, -0.2591818, -0.009950166, 0.02, 0.4, 1.5, 2.75, 60})},
             .symbolic = true});
  CheckCase({.op = "Elu",
             .inputs = {F32({4}, {-2, -0.5, 0.25, 1.5})},
             .expect = {F32({4}, {-0.4323324, -0.1967347, 0.25, 1.5})},
             .attrs = {{"alpha", 0.5}}});
  CheckCase({.op = "Elu", .inputs = {F32({0, 2}, {})}, .expect = {F32({0, 2}, {})}});
}

TEST(Elu, GradientFollowsPyTorch) {
  CheckCase({.op = "EluGrad",
             .inputs = {F32({10}, {1, -2, 0.5, 1.5, -1, 2, -0.25, 3, 1, -1.5}),
                        F32({10}, {-40, -3.5, -1.25, -0.3, -0.01, 0.02, 0.4, 1.5, 2.75, 60})},
             .expect = {F32({10}, {4.248354e-18, -0.06039477, 0.1432524, 1.111227, -0.9900498, 2, -0.25, 3, 1, -1.5})},
             .domain = "tenon"});
}

TEST(Elu, SpecialValues) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN(), kInf = std::numeric_limits<double>::infinity();
  CheckCase({.op = "Elu",
             .inputs = {F32({4}, {kNan, -kInf, kInf, 0})},
             .expect = {F32({4}, {kNan, -1, kInf, 0})},
             .gradient = {-1}});
  CheckCase({.op = "EluGrad",
             .inputs = {F32({4}, {1, 1, 1, 1}), F32({4}, {kNan, -kInf, kInf, 0})},
             .expect = {F32({4}, {kNan, 0, 1, 1})},
             .domain = "tenon",
             .gradient = {-1}});
}

}  // namespace
}  // namespace tenon::testing
