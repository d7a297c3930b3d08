// ReduceMin. The tensor of ONNX's test data (test_reduce_min_*), values from PyTorch 2.15; what stands beside a case otherwise.
#include <gtest/gtest.h>

#include <limits>

#include "tests/support/op_case.h"

namespace tenon::testing {
namespace {

TEST(ReduceMin, OverAxes) {
  const Tensor x = F32({3, 2, 2}, {5, 1, 20, 2, 30, 1, 40, 2, 55, 1, 60, 2});
  const Attributes drop{{"keepdims", std::int64_t{0}}};
  CheckCase({.op = "ReduceMin",
             .inputs = {x, I64({1}, {1})},
             .expect = {F32({3, 1, 2}, {5, 1, 30, 1, 55, 1})},
             .symbolic = true,
             .other_floats = false});
  CheckCase({.op = "ReduceMin",
             .inputs = {x, I64({2}, {-1, 0})},
             .expect = {F32({2}, {1, 2})},
             .attrs = drop,
             .gradient = {-1},
             .other_floats = false});
  CheckCase({.op = "ReduceMin",
             .inputs = {x},
             .expect = {F32({}, {1})},
             .attrs = drop,
             .gradient = {-1},
             .other_floats = false});
  CheckCase({.op = "ReduceMin",
             .inputs = {x},
             .expect = {F32({3, 1, 2}, {5, 1, 30, 1, 55, 1})},
             .attrs = {{"axes", std::vector<std::int64_t>{1}}},
             .version = 17,
             .other_floats = false});
}

TEST(ReduceMin, TakesEveryDtype) {
  CheckCase({.op = "ReduceMin", .inputs = {I32({3}, {2, -5, 3})}, .expect = {I32({1}, {-5})}});
  CheckCase({.op = "ReduceMin", .inputs = {Of(DType::kU8, {2}, {200, 100})}, .expect = {Of(DType::kU8, {1}, {100})}});
  CheckCase(
      {.op = "ReduceMin", .inputs = {Bool({2, 2}, {1, 1, 1, 0}), I64({1}, {1})}, .expect = {Bool({2, 1}, {1, 0})}});
  CheckCase({.op = "ReduceMin", .inputs = {F32({3}, {2, -0.5, 1})}, .expect = {F32({1}, {-0.5})}});
}

// Of nothing: ONNX's test data (test_reduce_min_empty_set).
TEST(ReduceMin, OfNothingAndNaN) {
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  CheckCase({.op = "ReduceMin",
             .inputs = {F32({2, 0, 2}, {}), I64({1}, {1})},
             .expect = {F32({2, 1, 2}, {inf, inf, inf, inf})}});
  CheckCase({.op = "ReduceMin",
             .inputs = {F32({2, 3}, {1, nan, 3, nan, -1, -2}), I64({1}, {1})},
             .expect = {F32({2, 1}, {nan, nan})},
             .gradient = {-1}});
  CheckCase({.op = "ReduceMax",
             .inputs = {F32({2, 3}, {1, nan, 3, nan, -1, -2}), I64({1}, {1})},
             .expect = {F32({2, 1}, {nan, nan})},
             .gradient = {-1}});
}

// Ties share evenly, as torch.amin has it.
TEST(ReduceMin, SharesItsGradientAmongTies) {
  CheckCase({.op = "ReduceMaxGrad",
             .inputs = {F32({1}, {6}), F32({3}, {1, 2, 1}), F32({1}, {1})},
             .expect = {F32({3}, {3, 0, 3})},
             .domain = "tenon"});
}

}  // namespace
}  // namespace tenon::testing
