// ReduceLogSumExp. The tensor of ONNX's test data (test_reduce_log_sum_exp_*), values from PyTorch 2.15; what stands beside a case otherwise.
#include <gtest/gtest.h>

#include <limits>

#include "tests/support/op_case.h"

namespace tenon::testing {
namespace {

TEST(ReduceLogSumExp, OverAxes) {
  const Tensor x = F32({3, 2, 2}, {5, 1, 20, 2, 30, 1, 40, 2, 55, 1, 60, 2});
  const Attributes drop{{"keepdims", std::int64_t{0}}};
  CheckCase({.op = "ReduceLogSumExp",
             .inputs = {x, I64({1}, {1})},
             .expect = {F32({3, 1, 2}, {20, 2.3132617473602295, 40.00004577636719, 2.3132617473602295, 60.0067138671875,
                                        2.3132617473602295})},
             .symbolic = true,
             .other_floats = false});
  CheckCase({.op = "ReduceLogSumExp",
             .inputs = {x, I64({2}, {-1, 0})},
             .expect = {F32({2}, {55, 60})},
             .attrs = drop,
             .gradient = {0},
             .other_floats = false});
  CheckCase({.op = "ReduceLogSumExp",
             .inputs = {x},
             .expect = {F32({}, {60.0067138671875})},
             .attrs = drop,
             .gradient = {0},
             .other_floats = false});
  CheckCase({.op = "ReduceLogSumExp",
             .inputs = {x},
             .expect = {F32({3, 1, 2}, {20, 2.3132617473602295, 40.00004577636719, 2.3132617473602295, 60.0067138671875,
                                        2.3132617473602295})},
             .attrs = {{"axes", std::vector<std::int64_t>{1}}},
             .version = 17,
             .other_floats = false});
}

TEST(ReduceLogSumExp, DoesNotOverflow) {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  CheckCase({.op = "ReduceLogSumExp", .inputs = {F32({2}, {1000, 1000})}, .expect = {F32({1}, {1000.6931471805599})}});
  CheckCase({.op = "ReduceLogSumExp",
             .inputs = {F32({2, 2}, {-inf, 3, 2, -inf}), I64({1}, {1})},
             .expect = {F32({2, 1}, {3, 2})},
             .gradient = {-1}});
  CheckCase({.op = "ReduceLogSumExp",
             .inputs = {F32({3, 2}, {-inf, -inf, inf, 0, nan, 1}), I64({1}, {1})},
             .expect = {F32({3, 1}, {-inf, inf, nan})},
             .gradient = {-1}});
  CheckCase({.op = "ReduceLogSumExp", .inputs = {F32({0, 1}, {}), I64({1}, {0})}, .expect = {F32({1, 1}, {-inf})}});
  CheckCase({.op = "ReduceLogSumExp", .inputs = {F32({2, 2}, {0, 0.5, 1, -1})}, .expect = {F32({1, 1}, {1.7465673})}});
}

}  // namespace
}  // namespace tenon::testing
