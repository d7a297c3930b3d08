// Xor. The whole truth table, as ONNX's operator definition has it (numpy's logical_xor).
#include <gtest/gtest.h>

#include "tests/support/op_case.h"

namespace tenon::testing {
namespace {

TEST(Xor, HasItsTruthTable) {
  CheckCase({.op = "Xor",
             .inputs = {Bool({4}, {0, 0, 1, 1}), Bool({4}, {0, 1, 0, 1})},
             .expect = {Bool({4}, {0, 1, 1, 0})},
             .symbolic = true});
  CheckCase({.op = "Xor",
             .inputs = {Bool({2, 1}, {1, 0}), Bool({3}, {1, 0, 1})},
             .expect = {Bool({2, 3}, {0, 1, 0, 1, 0, 1})}});
  CheckCase({.op = "Xor", .inputs = {Bool({0}, {}), Bool({}, {1})}, .expect = {Bool({0}, {})}});
  CheckFails({.op = "Xor", .inputs = {I64({1}, {1}), I64({1}, {0})}, .expect = {}},
             "Xor input A has dtype (int64); supported are bool.");
}

}  // namespace
}  // namespace tenon::testing
