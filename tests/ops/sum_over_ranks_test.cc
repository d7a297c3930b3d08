// SumOverRanks. On one process it is the identity, by its definition.
#include <gtest/gtest.h>

#include "tests/support/op_case.h"

namespace tenon::testing {
namespace {

TEST(SumOverRanks, OneProcessHasTheSum) {
  const Tensor x = F32({2, 3}, {1, -2, 3, 4, 0.5F, -6});
  CheckCase({.op = "SumOverRanks",
             .inputs = {x},
             .expect = {x},
             .domain = "tenon",
             .gradient = {0},
             .symbolic = true,
             .other_floats = false});
}

}  // namespace
}  // namespace tenon::testing
