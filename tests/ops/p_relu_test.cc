// PRelu and its gradient. Listed values from PyTorch 2.15 in float64, small ones by hand from the definition.
#include <gtest/gtest.h>

#include <limits>

#include "tests/support/op_case.h"

namespace tenon::testing {
namespace {

TEST(PRelu, BroadcastsTheSlope) {
  const Tensor x = F32({3, 2, 2}, {1, -2, 3, -0.5, -1.5, 0.25, -4, 2, 0.5, -0.75, 1.25, -3});
  CheckCase({.op = "PRelu",
             .inputs = {x, F32({2, 1}, {0.25, -0.5})},
             .expect = {F32({3, 2, 2}, {1, -0.5, 3, 0.25, -0.375, 0.25, 2, 2, 0.5, -0.1875, 1.25, 1.5})},
             .symbolic = true});
  CheckCase({.op = "PRelu",
             .inputs = {F32({2, 2}, {-1, 2, -3, 4}), F32({}, {0.5})},
             .expect = {F32({2, 2}, {-0.5, 2, -1.5, 4})}});
  CheckCase({.op = "PRelu", .inputs = {F32({2}, {-1, 2}), F32({1}, {-2})}, .expect = {F32({2}, {2, 2})}});
  CheckCase({.op = "PRelu", .inputs = {I64({3}, {-4, 0, 5}), I64({1}, {3})}, .expect = {I64({3}, {-12, 0, 5})}});
  CheckCase({.op = "PRelu", .inputs = {Random({2, 3, 4}), Random({2, 3, 4}, -1, 1, 7)}, .expect = {}});
  CheckCase({.op = "PRelu", .inputs = {F32({0, 3}, {}), F32({3}, {1, 2, 3})}, .expect = {F32({0, 3}, {})}});
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  CheckCase(
      {.op = "PRelu", .inputs = {F32({1}, {kNan}), F32({1}, {0.5})}, .expect = {F32({1}, {kNan})}, .gradient = {-1}});
}

TEST(PRelu, GradientFollowsPyTorch) {
  CheckCase(
      {.op = "PReluGrad",
       .inputs = {F32({3, 2, 2}, {1, 2, -1, 0.5, 3, -2, 1, 1.5, -0.5, 1, 2, -1}),
                  F32({3, 2, 2}, {1, -2, 3, -0.5, -1.5, 0.25, -4, 2, 0.5, -0.75, 1.25, -3}), F32({2, 1}, {0.25, -0.5})},
       .expect = {F32({3, 2, 2}, {1, 0.5, -1, -0.25, 0.75, -2, -0.5, 1.5, -0.5, 0.25, 2, 0.5}),
                  F32({2, 1}, {-9.25, -1.25})},
       .domain = "tenon"});
}

TEST(PRelu, RefusesASlopeThatIsLarger) {
  CheckFails({.op = "PRelu", .inputs = {F32({2}, {1, 2}), F32({3, 2}, {1, 2, 3, 4, 5, 6})}, .expect = {}},
             "PRelu slope has shape [3,2], which does not broadcast to X [2].");
}

}  // namespace
}  // namespace tenon::testing
