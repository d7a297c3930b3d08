// Sin. Values from PyTorch 2.15.
#include <gtest/gtest.h>

#include <limits>

#include "tests/support/op_case.h"

namespace tenon::testing {
namespace {

TEST(Sin, OfRadians) {
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  CheckCase({.op = "Sin",
             .inputs = {F32({4}, {-1, 0, 1, 10})},
             .expect = {F32({4}, {-0.84147096, 0, 0.84147096, -0.54402113})},
             .symbolic = true});
  CheckCase({.op = "Sin", .inputs = {F32({2}, {nan, inf})}, .expect = {F32({2}, {nan, nan})}, .gradient = {-1}});
}

}  // namespace
}  // namespace tenon::testing
