// IsInf. The cases are ONNX's test data (test_isinf*).
#include <gtest/gtest.h>

#include <limits>

#include "tests/support/op_case.h"

namespace tenon::testing {
namespace {

TEST(IsInf, MarksInfinities) {
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  const Tensor x = F32({6}, {-1.7, nan, inf, 3.6, -inf, inf});
  const AttrValue no = std::int64_t{0};
  CheckCase({.op = "IsInf", .inputs = {x}, .expect = {Bool({6}, {0, 0, 1, 0, 1, 1})}, .symbolic = true});
  CheckCase(
      {.op = "IsInf", .inputs = {x}, .expect = {Bool({6}, {0, 0, 1, 0, 0, 1})}, .attrs = {{"detect_negative", no}}});
  CheckCase(
      {.op = "IsInf", .inputs = {x}, .expect = {Bool({6}, {0, 0, 0, 0, 1, 0})}, .attrs = {{"detect_positive", no}}});
}

}  // namespace
}  // namespace tenon::testing
