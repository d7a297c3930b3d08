// Floor. The first case is ONNX's test data.
#include <gtest/gtest.h>

#include <limits>

#include "tests/support/op_case.h"

namespace tenon::testing {
namespace {

TEST(Floor, RoundsDown) {
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  CheckCase({.op = "Floor", .inputs = {F32({3}, {-1.5, 1.2, 2})}, .expect = {F32({3}, {-2, 1, 2})}, .symbolic = true});
  CheckCase({.op = "Floor", .inputs = {F32({3}, {nan, inf, -inf})}, .expect = {F32({3}, {nan, inf, -inf})}});
  CheckCase({.op = "Floor", .inputs = {F32({0}, {})}, .expect = {F32({0}, {})}});
}

}  // namespace
}  // namespace tenon::testing
