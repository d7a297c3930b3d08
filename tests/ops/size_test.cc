// Size. The first case is ONNX's test data; the others by hand.
#include <gtest/gtest.h>

#include "tests/support/op_case.h"

namespace tenon::testing {
namespace {

TEST(Size, CountsTheElements) {
  CheckCase({.op = "Size", .inputs = {Ramp({2, 3})}, .expect = {I64({}, {6})}});
  CheckCase({.op = "Size", .inputs = {F32({}, {1})}, .expect = {I64({}, {1})}});
  CheckCase({.op = "Size", .inputs = {I32({4, 0}, {})}, .expect = {I64({}, {0})}});
}

}  // namespace
}  // namespace tenon::testing
