// Reductions. Listed values by hand from the definitions.
#include <gtest/gtest.h>

#include <limits>

#include "tests/support/op_case.h"

namespace tenon::testing {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();
const Attributes kDrop{{"keepdims", std::int64_t{0}}};

TEST(Reduction, OverOneAxis) {
  const Tensor x = F32({2, 3}, {1, -2, 3, 4, 50, 6});
  for (const std::int64_t axis : {std::int64_t{1}, std::int64_t{-1}}) {
    const Tensor axes = I64({1}, {axis});
    CheckCase({.op = "ReduceSum", .inputs = {x, axes}, .expect = {F32({2, 1}, {2, 60})}, .symbolic = true});
    CheckCase({.op = "ReduceMean", .inputs = {x, axes}, .expect = {F32({2, 1}, {2. / 3, 20})}});
    CheckCase({.op = "ReduceMax", .inputs = {x, axes}, .expect = {F32({2, 1}, {3, 50})}, .symbolic = true});
    CheckCase(
        {.op = "ReduceSum", .inputs = {x, axes}, .expect = {F32({2}, {2, 60})}, .attrs = kDrop, .symbolic = true});
    CheckCase({.op = "ReduceMean", .inputs = {x, axes}, .expect = {F32({2}, {2. / 3, 20})}, .attrs = kDrop});
    CheckCase({.op = "ReduceMax", .inputs = {x, axes}, .expect = {F32({2}, {3, 50})}, .attrs = kDrop});
  }
  CheckCase({.op = "ReduceSum", .inputs = {x, I64({1}, {0})}, .expect = {F32({3}, {5, 48, 9})}, .attrs = kDrop});
}

TEST(Reduction, OverSeveralAndAllAxes) {
  const Tensor x = Ramp({2, 3, 2});
  CheckCase({.op = "ReduceSum", .inputs = {x, I64({2}, {2, 0})}, .expect = {F32({3}, {14, 22, 30})}, .attrs = kDrop});
  CheckCase({.op = "ReduceMax", .inputs = {x, I64({2}, {0, 2})}, .expect = {F32({1, 3, 1}, {7, 9, 11})}});
  CheckCase({.op = "ReduceSum", .inputs = {x}, .expect = {F32({}, {66})}, .attrs = kDrop});
  CheckCase({.op = "ReduceMean", .inputs = {x}, .expect = {F32({1, 1, 1}, {5.5})}});
  CheckCase({.op = "ReduceMax", .inputs = {x}, .expect = {F32({}, {11})}, .attrs = kDrop});
  CheckCase({.op = "ReduceSum",
             .inputs = {x, I64({0}, {})},
             .expect = {x},
             .attrs = {{"noop_with_empty_axes", std::int64_t{1}}}});
  CheckCase({.op = "ReduceSum", .inputs = {F32({}, {3})}, .expect = {F32({}, {3})}});
}

TEST(Reduction, OlderOpsetsHaveAnAttribute) {
  const Tensor x = F32({2, 3}, {1, -2, 3, 4, 50, 6});
  const Attributes attrs{{"axes", std::vector<std::int64_t>{-1}}, {"keepdims", std::int64_t{0}}};
  CheckCase({.op = "ReduceSum", .inputs = {x}, .expect = {F32({2}, {2, 60})}, .attrs = attrs, .version = 11});
  CheckCase({.op = "ReduceMean", .inputs = {x}, .expect = {F32({2}, {2. / 3, 20})}, .attrs = attrs, .version = 13});
  CheckCase({.op = "ReduceMax", .inputs = {x}, .expect = {F32({2}, {3, 50})}, .attrs = attrs, .version = 13});
  CheckFails({.op = "ReduceSum", .inputs = {x}, .expect = {}, .attrs = attrs, .version = 13},
             "ReduceSum has no attribute 'axes'. It has 'keepdims', 'noop_with_empty_axes'.");
}

TEST(Reduction, OfNothing) {
  const Tensor none = F32({2, 0}, {});
  const Tensor axes = I64({1}, {1});
  CheckCase({.op = "ReduceSum", .inputs = {none, axes}, .expect = {F32({2}, {0, 0})}, .attrs = kDrop});
  CheckCase({.op = "ReduceMean", .inputs = {none, axes}, .expect = {F32({2}, {kNan, kNan})}, .attrs = kDrop});
  CheckCase({.op = "ReduceMax", .inputs = {none, axes}, .expect = {F32({2}, {-kInf, -kInf})}, .attrs = kDrop});
  CheckCase({.op = "ReduceSum", .inputs = {none, I64({1}, {0})}, .expect = {F32({0}, {})}, .attrs = kDrop});
  CheckFails({.op = "ReduceMean", .inputs = {I64({2, 0}, {}), axes}, .expect = {}},
             "ReduceMean of int64[2,0] over no elements has no value.");
}

TEST(Reduction, KeepsDtypes) {
  const std::int64_t big = (std::int64_t{1} << 53) + 1;
  CheckCase({.op = "ReduceSum", .inputs = {I64({2}, {big, 2})}, .expect = {I64({}, {big + 2})}, .attrs = kDrop});
  CheckCase({.op = "ReduceMean", .inputs = {I32({2}, {-3, -4})}, .expect = {I32({}, {-3})}, .attrs = kDrop});
  CheckCase({.op = "ReduceMax",
             .inputs = {Of(DType::kI8, {2}, {-3, -4})},
             .expect = {Of(DType::kI8, {}, {-3})},
             .attrs = kDrop});
  // A sum of 4096 ones in float16 stays exact because it is kept in float32; in float16 it would stop at 2048.
  const Tensor ones = Cast(Ramp({4096}, 1, 0), DType::kF16);
  CheckCase({.op = "ReduceSum",
             .inputs = {ones},
             .expect = {Cast(F32({}, {4096}), DType::kF16)},
             .attrs = kDrop,
             .gradient = {-1}});
  CheckCase({.op = "ReduceMax",
             .inputs = {F32({3}, {1, kNan, 3})},
             .expect = {F32({}, {kNan})},
             .attrs = kDrop,
             .gradient = {-1}});
}

TEST(Reduction, MaxSharesTies) {
  const auto dx = Outputs({.op = "ReduceMaxGrad",
                           .inputs = {F32({1}, {6}), F32({3}, {2, 1, 2}), F32({1}, {2})},
                           .expect = {},
                           .domain = "tenon"});
  ExpectNear(dx[0], F32({3}, {3, 0, 3}), 0, "dX");
}

TEST(Reduction, NamesWhatIsWrong) {
  CheckFails({.op = "ReduceSum", .inputs = {F32({2}, {1, 2}), I64({1}, {1})}, .expect = {}},
             "Axis (1) is outside [-1, 1) of a tensor of rank 1.");
  CheckFails({.op = "ReduceSum", .inputs = {Ramp({2, 2}), I64({2}, {1, -1})}, .expect = {}},
             "Axis (-1) is listed twice in axes [1,-1].");
}

}  // namespace
}  // namespace tenon::testing
