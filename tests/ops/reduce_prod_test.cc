// ReduceProd. The tensor of ONNX's test data (test_reduce_prod_*), values from PyTorch 2.15; what stands beside a case otherwise.
#include <gtest/gtest.h>

#include <limits>

#include "tests/support/op_case.h"

namespace tenon::testing {
namespace {

TEST(ReduceProd, OverAxes) {
  const Tensor x = F32({3, 2, 2}, {5, 1, 20, 2, 30, 1, 40, 2, 55, 1, 60, 2});
  const Attributes drop{{"keepdims", std::int64_t{0}}};
  CheckCase({.op = "ReduceProd",
             .inputs = {x, I64({1}, {1})},
             .expect = {F32({3, 1, 2}, {100, 2, 1200, 2, 3300, 2})},
             .symbolic = true,
             .other_floats = false});
  CheckCase({.op = "ReduceProd",
             .inputs = {x, I64({2}, {-1, 0})},
             .expect = {F32({2}, {8250, 384000})},
             .attrs = drop,
             .gradient = {-1},
             .other_floats = false});
  CheckCase({.op = "ReduceProd",
             .inputs = {x},
             .expect = {F32({}, {3168000000})},
             .attrs = drop,
             .gradient = {-1},
             .other_floats = false});
  CheckCase({.op = "ReduceProd",
             .inputs = {x},
             .expect = {F32({3, 1, 2}, {100, 2, 1200, 2, 3300, 2})},
             .attrs = {{"axes", std::vector<std::int64_t>{1}}},
             .version = 17,
             .other_floats = false});
}

TEST(ReduceProd, TakesEveryDtype) {
  CheckCase({.op = "ReduceProd", .inputs = {I32({3}, {2, -5, 3})}, .expect = {I32({1}, {-30})}});
  CheckCase({.op = "ReduceProd", .inputs = {Of(DType::kU8, {2}, {16, 17})}, .expect = {Of(DType::kU8, {1}, {16})}});
  CheckCase({.op = "ReduceProd", .inputs = {F32({3}, {2, -0.5, 1})}, .expect = {F32({1}, {-1})}});
}

// Of nothing: ONNX's test data (test_reduce_prod_empty_set).
TEST(ReduceProd, OfNothingAndNaN) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CheckCase(
      {.op = "ReduceProd", .inputs = {F32({2, 0, 2}, {}), I64({1}, {1})}, .expect = {F32({2, 1, 2}, {1, 1, 1, 1})}});
  CheckCase({.op = "ReduceProd",
             .inputs = {F32({2, 2}, {0, nan, 1, 3}), I64({1}, {1})},
             .expect = {F32({2, 1}, {nan, 3})},
             .gradient = {-1}});
}

// One zero in a group: only it has a gradient; two zeros: none has. Compared with differences.
TEST(ReduceProd, HasAGradientAtZero) {
  CheckCase({.op = "ReduceProd",
             .inputs = {F32({3, 3}, {2, 0, 3, 0, 0, 4, 1, 2, 3}), I64({1}, {1})},
             .expect = {F32({3, 1}, {0, 0, 6})},
             .gradient = {0}});
  CheckCase({.op = "ReduceProdGrad",
             .inputs = {F32({2, 1}, {1, 10}), F32({2, 2}, {3, 0, 2, 5})},
             .expect = {F32({2, 2}, {0, 3, 50, 20})},
             .domain = "tenon"});
}

}  // namespace
}  // namespace tenon::testing
