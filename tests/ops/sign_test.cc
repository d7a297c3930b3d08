// Sign. Values from numpy.sign, by which ONNX's operator definition is tested.
#include <gtest/gtest.h>

#include <limits>

#include "tests/support/op_case.h"

namespace tenon::testing {
namespace {

TEST(Sign, IsMinusOneZeroOrOne) {
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  CheckCase({.op = "Sign",
             .inputs = {F32({5}, {-2.5, -0.0, 0, 3, nan})},
             .expect = {F32({5}, {-1, 0, 0, 1, nan})},
             .symbolic = true});
  CheckCase({.op = "Sign", .inputs = {F32({2}, {inf, -inf})}, .expect = {F32({2}, {1, -1})}});
  CheckCase({.op = "Sign", .inputs = {Of(DType::kI8, {3}, {-7, 0, 9})}, .expect = {Of(DType::kI8, {3}, {-1, 0, 1})}});
  CheckCase({.op = "Sign", .inputs = {Of(DType::kU16, {2}, {0, 9})}, .expect = {Of(DType::kU16, {2}, {0, 1})}});
}

}  // namespace
}  // namespace tenon::testing
