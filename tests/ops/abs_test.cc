// Abs and its gradient. Listed values by hand from the definition.
#include <gtest/gtest.h>

#include <limits>

#include "tests/support/op_case.h"

namespace tenon::testing {
namespace {

TEST(Abs, FollowsPyTorch) {
  CheckCase({.op = "Abs",
             .inputs = {F32({10}, {-40, -3.5, -1.25, -0.3, -0.01, 0.02, 0.4, 1.5, 2.75, 60})},
             .expect = {F32({10}, {40, 3.5, 1.25, 0.3, 0.01, 0.02, 0.4, 1.5, 2.75, 60})},
             .symbolic = true});
  CheckCase({.op = "Abs", .inputs = {F32({0, 2}, {})}, .expect = {F32({0, 2}, {})}});
}

TEST(Abs, GradientFollowsPyTorch) {
  CheckCase({.op = "AbsGrad",
             .inputs = {F32({10}, {1, -2, 0.5, 1.5, -1, 2, -0.25, 3, 1, -1.5}),
                        F32({10}, {-40, -3.5, -1.25, -0.3, -0.01, 0.02, 0.4, 1.5, 2.75, 60})},
             .expect = {F32({10}, {-1, 2, -0.5, -1.5, 1, 2, -0.25, 3, 1, -1.5})},
             .domain = "tenon",
             .gradient = {0}});
}

TEST(Abs, SpecialValues) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN(), kInf = std::numeric_limits<double>::infinity();
  CheckCase(
      {.op = "Abs", .inputs = {F32({3}, {kNan, -kInf, 0})}, .expect = {F32({3}, {kNan, kInf, 0})}, .gradient = {-1}});
  CheckCase({.op = "AbsGrad",
             .inputs = {F32({3}, {1, 1, 1}), F32({3}, {kNan, -kInf, 0})},
             .expect = {F32({3}, {kNan, -1, 0})},
             .domain = "tenon",
             .gradient = {-1}});
  constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();
  CheckCase({.op = "Abs", .inputs = {I64({3}, {-5, 7, least})}, .expect = {I64({3}, {5, 7, least})}});
  CheckCase({.op = "Abs", .inputs = {Of(DType::kU8, {2}, {0, 255})}, .expect = {Of(DType::kU8, {2}, {0, 255})}});
}

}  // namespace
}  // namespace tenon::testing
