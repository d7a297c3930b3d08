// ConstantOfShape. Cases of ONNX's test data (float ones, int zeros, a shape of nothing); the others by hand.
#include <gtest/gtest.h>

#include "tests/support/op_case.h"

namespace tenon::testing {
namespace {

TEST(ConstantOfShape, Fills) {
  CheckCase({.op = "ConstantOfShape",
             .inputs = {I64({2}, {2, 3})},
             .expect = {F32({2, 3}, {1, 1, 1, 1, 1, 1})},
             .attrs = {{"value", F32({1}, {1})}},
             .other_floats = false});
  CheckCase({.op = "ConstantOfShape",
             .inputs = {I64({1}, {0})},
             .expect = {I32({0}, {})},
             .attrs = {{"value", I32({1}, {0})}}});
  CheckCase(
      {.op = "ConstantOfShape", .inputs = {I64({1}, {3})}, .expect = {F32({3}, {0, 0, 0})}, .other_floats = false});
  CheckCase({.op = "ConstantOfShape",
             .inputs = {I64({0}, {})},
             .expect = {Bool({}, {1})},
             .attrs = {{"value", Bool({}, {1})}}});
}

TEST(ConstantOfShape, NamesWhatIsWrong) {
  CheckFails({.op = "ConstantOfShape", .inputs = {I64({1}, {2})}, .expect = {}, .attrs = {{"value", F32({2}, {1, 2})}}},
             "ConstantOfShape needs one value; the tensor has shape [2].");
  CheckFails({.op = "ConstantOfShape", .inputs = {I64({}, {2})}, .expect = {}},
             "ConstantOfShape needs a list of extents; it has shape [].");
}

}  // namespace
}  // namespace tenon::testing
