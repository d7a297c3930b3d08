// LessOrEqual. Values from the comparison of ONNX's operator definition (numpy's less_equal).
#include <gtest/gtest.h>

#include <limits>

#include "tests/support/op_case.h"

namespace tenon::testing {
namespace {

TEST(LessOrEqual, ComparesByElement) {
  CheckCase({.op = "LessOrEqual",
             .inputs = {F32({4}, {1, 2, 3, -1}), F32({4}, {2, 2, 1, -1})},
             .expect = {Bool({4}, {1, 1, 0, 1})},
             .symbolic = true});
  CheckCase({.op = "LessOrEqual",
             .inputs = {I64({4}, {1, 2, 3, -1}), I64({4}, {2, 2, 1, -1})},
             .expect = {Bool({4}, {1, 1, 0, 1})}});
  CheckCase({.op = "LessOrEqual",
             .inputs = {Of(DType::kU8, {1}, {200}), Of(DType::kU8, {1}, {100})},
             .expect = {Bool({1}, {0})}});
}

TEST(LessOrEqual, Broadcasts) {
  CheckCase({.op = "LessOrEqual",
             .inputs = {F32({2, 1}, {1, 2}), F32({3}, {0, 1, 2})},
             .expect = {Bool({2, 3}, {0, 1, 1, 0, 0, 1})}});
  CheckCase({.op = "LessOrEqual", .inputs = {F32({0}, {}), F32({}, {1})}, .expect = {Bool({0}, {})}});
}

TEST(LessOrEqual, WithNaNIsFalse) {
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  CheckCase({.op = "LessOrEqual",
             .inputs = {F32({4}, {nan, 1, nan, inf}), F32({4}, {1, nan, nan, inf})},
             .expect = {Bool({4}, {0, 0, 0, 1})}});
}

TEST(LessOrEqual, RefusesBools) {
  CheckFails(
      {.op = "LessOrEqual", .inputs = {Bool({1}, {1}), Bool({1}, {0})}, .expect = {}},
      "LessOrEqual input A has dtype (bool); supported are float32, uint8, int8, uint16, int16, int32, int64, float16, "
      "float64, uint32, uint64, bfloat16.");
}

}  // namespace
}  // namespace tenon::testing
