// IsNaN. The first case is ONNX's test data.
#include <gtest/gtest.h>

#include <limits>

#include "tests/support/op_case.h"

namespace tenon::testing {
namespace {

TEST(IsNaN, MarksNaN) {
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  CheckCase({.op = "IsNaN",
             .inputs = {F32({6}, {-1.2, nan, inf, 2.8, -inf, inf})},
             .expect = {Bool({6}, {0, 1, 0, 0, 0, 0})},
             .symbolic = true});
  CheckCase({.op = "IsNaN", .inputs = {F32({0}, {})}, .expect = {Bool({0}, {})}});
}

}  // namespace
}  // namespace tenon::testing
