// ReduceSumSquare. The tensor of ONNX's test data (test_reduce_sum_square_*), values from PyTorch 2.15; what stands beside a case otherwise.
#include <gtest/gtest.h>

#include "tests/support/op_case.h"

namespace tenon::testing {
namespace {

TEST(ReduceSumSquare, OverAxes) {
  const Tensor x = F32({3, 2, 2}, {5, 1, 20, 2, 30, 1, 40, 2, 55, 1, 60, 2});
  const Attributes drop{{"keepdims", std::int64_t{0}}};
  CheckCase({.op = "ReduceSumSquare",
             .inputs = {x, I64({1}, {1})},
             .expect = {F32({3, 1, 2}, {425, 5, 2500, 5, 6625, 5})},
             .symbolic = true,
             .other_floats = false});
  CheckCase({.op = "ReduceSumSquare",
             .inputs = {x, I64({2}, {-1, 0})},
             .expect = {F32({2}, {3953, 5612})},
             .attrs = drop,
             .gradient = {0},
             .other_floats = false});
  CheckCase({.op = "ReduceSumSquare",
             .inputs = {x},
             .expect = {F32({}, {9565})},
             .attrs = drop,
             .gradient = {0},
             .other_floats = false});
  CheckCase({.op = "ReduceSumSquare",
             .inputs = {x},
             .expect = {F32({3, 1, 2}, {425, 5, 2500, 5, 6625, 5})},
             .attrs = {{"axes", std::vector<std::int64_t>{1}}},
             .version = 17,
             .other_floats = false});
}

// The first case is ONNX's test data (test_reduce_sum_square_keepdims_example).
TEST(ReduceSumSquare, TakesEveryDtype) {
  CheckCase({.op = "ReduceSumSquare",
             .inputs = {Ramp({3, 2, 2}, 1), I64({1}, {1})},
             .expect = {F32({3, 1, 2}, {10, 20, 74, 100, 202, 244})}});
  CheckCase({.op = "ReduceSumSquare", .inputs = {I32({2}, {3, -4})}, .expect = {I32({1}, {25})}});
  CheckCase({.op = "ReduceSumSquare", .inputs = {F32({0, 2}, {}), I64({1}, {0})}, .expect = {F32({1, 2}, {0, 0})}});
}

}  // namespace
}  // namespace tenon::testing
