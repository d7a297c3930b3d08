// And. The whole truth table, as ONNX's operator definition has it (numpy's logical_and).
#include <gtest/gtest.h>

#include "tests/support/op_case.h"

namespace tenon::testing {
namespace {

TEST(And, HasItsTruthTable) {
  CheckCase({.op = "And",
             .inputs = {Bool({4}, {0, 0, 1, 1}), Bool({4}, {0, 1, 0, 1})},
             .expect = {Bool({4}, {0, 0, 0, 1})},
             .symbolic = true});
  CheckCase({.op = "And",
             .inputs = {Bool({2, 1}, {1, 0}), Bool({3}, {1, 0, 1})},
             .expect = {Bool({2, 3}, {1, 0, 1, 0, 0, 0})}});
  CheckCase({.op = "And", .inputs = {Bool({0}, {}), Bool({}, {1})}, .expect = {Bool({0}, {})}});
  CheckFails({.op = "And", .inputs = {I64({1}, {1}), I64({1}, {0})}, .expect = {}},
             "And input A has dtype (int64); supported are bool.");
}

}  // namespace
}  // namespace tenon::testing
