// Gemm and MatMul. Listed values from PyTorch 2.15 in float64 and numpy's definition of matmul.
#include <gtest/gtest.h>

#include "tests/support/op_case.h"

namespace tenon::testing {
namespace {

constexpr std::int64_t kYes = 1;

TEST(Gemm, ScalesTransposesAndAdds) {
  const Tensor a = Ramp({2, 3}, 1, 0.5), b = Ramp({3, 2}, -1, 0.25);
  const Tensor expected = F32({2, 2}, {1.125, -2.3125, 0, -2.875});
  const Tensor at = F32({3, 2}, {1, 2.5, 1.5, 3, 2, 3.5}), bt = F32({2, 3}, {-1, -0.5, 0, -0.75, -0.25, 0.25});
  const Tensor c = F32({2}, {1, -1});
  CheckCase({.op = "Gemm",
             .inputs = {a, b, c},
             .expect = {expected},
             .attrs = {{"alpha", 0.5}, {"beta", 2.0}},
             .symbolic = true});
  CheckCase({.op = "Gemm",
             .inputs = {at, b, c},
             .expect = {expected},
             .attrs = {{"alpha", 0.5}, {"beta", 2.0}, {"transA", kYes}}});
  CheckCase({.op = "Gemm",
             .inputs = {a, bt, c},
             .expect = {expected},
             .attrs = {{"alpha", 0.5}, {"beta", 2.0}, {"transB", kYes}}});
  CheckCase({.op = "Gemm",
             .inputs = {at, bt, c},
             .expect = {expected},
             .attrs = {{"alpha", 0.5}, {"beta", 2.0}, {"transA", kYes}, {"transB", kYes}}});
  CheckCase({.op = "Gemm", .inputs = {a, b}, .expect = {}, .attrs = {{"transA", kYes}, {"transB", kYes}}});
  CheckCase({.op = "Gemm", .inputs = {a, b, F32({2, 1}, {1, 2})}, .expect = {}});
  CheckCase({.op = "Gemm", .inputs = {a, b, F32({}, {1})}, .expect = {}});
  CheckCase({.op = "Gemm", .inputs = {I64({1, 2}, {3, 4}), I64({2, 1}, {5, 6})}, .expect = {I64({1, 1}, {39})}});
}

TEST(Gemm, TakesEmptyMatrices) {
  CheckCase({.op = "Gemm",
             .inputs = {F32({2, 0}, {}), F32({0, 2}, {}), F32({2}, {1, 2})},
             .expect = {F32({2, 2}, {1, 2, 1, 2})}});
  CheckCase({.op = "Gemm", .inputs = {F32({0, 2}, {}), F32({2, 3}, {1, 2, 3, 4, 5, 6})}, .expect = {F32({0, 3}, {})}});
}

TEST(MatMul, FollowsNumpy) {
  CheckCase({.op = "MatMul",
             .inputs = {Ramp({2, 3}, 1, 0.5), Ramp({3, 2}, -1, 0.25)},
             .expect = {F32({2, 2}, {-1.75, -0.625, -4, -1.75})},
             .symbolic = true});
  CheckCase({.op = "MatMul",
             .inputs = {Ramp({2, 1, 2, 3}, -1, 0.5), Ramp({3, 3, 2}, 1, -0.25)},
             .expect = {F32({2, 3, 2, 2},
                            {-1.25, -0.875, 1,   0.25, 1,  1.375,  -3.5,  -4.25, 3.25,   3.625,   -8,    -8.75,
                             3.25,  1.375,  5.5, 2.5,  -8, -9.875, -12.5, -15.5, -19.25, -21.125, -30.5, -33.5})},
             .other_floats = false});
  CheckCase(
      {.op = "MatMul", .inputs = {Ramp({3}, 1), Ramp({2, 3, 2}, 0, 0.5)}, .expect = {F32({2, 2}, {8, 11, 26, 29})}});
  CheckCase({.op = "MatMul", .inputs = {Ramp({3}, 1), Ramp({3}, 2)}, .expect = {F32({}, {20})}});
  CheckCase({.op = "MatMul", .inputs = {Ramp({2, 2, 3}, 1), Ramp({3}, 2)}, .expect = {F32({2, 2}, {20, 47, 74, 101})}});
  CheckCase(
      {.op = "MatMul", .inputs = {Ramp({2, 2, 3}, 1, 0.1), Ramp({3, 2}, 2, 0.1)}, .expect = {}, .symbolic = true});
  CheckCase({.op = "MatMul", .inputs = {I32({1, 2}, {3, 4}), I32({2, 1}, {5, 6})}, .expect = {I32({1, 1}, {39})}});
}

TEST(MatMul, TakesEmptyTensors) {
  CheckCase({.op = "MatMul", .inputs = {F32({2, 0}, {}), F32({0, 2}, {})}, .expect = {F32({2, 2}, {0, 0, 0, 0})}});
  CheckCase({.op = "MatMul", .inputs = {F32({0, 2, 3}, {}), Ramp({3, 4})}, .expect = {F32({0, 2, 4}, {})}});
}

TEST(Products, NameWhatIsWrong) {
  CheckFails({.op = "MatMul", .inputs = {Ramp({2, 3}), Ramp({4, 2})}, .expect = {}},
             "Inner dimension of A (3) is not equal to that of B (4): [2,3] x [4,2].");
  CheckFails({.op = "Gemm", .inputs = {Ramp({2, 3}), Ramp({4, 2})}, .expect = {}},
             "Inner dimension of A (3) is not equal to that of B (4): [2,3] x [4,2].");
  CheckFails({.op = "Gemm", .inputs = {Ramp({2, 3}), Ramp({3, 2}), Ramp({3})}, .expect = {}},
             "Gemm C has shape [3]; it must broadcast to the product's shape [2,2].");
  CheckFails({.op = "Gemm", .inputs = {Ramp({3}), Ramp({3, 2})}, .expect = {}},
             "Gemm multiplies matrices; A has shape [3] and B has shape [3,2].");
  CheckFails({.op = "MatMul", .inputs = {F32({}, {1}), Ramp({3, 2})}, .expect = {}},
             "MatMul multiplies tensors of rank 1 or more; A is [], B is [3,2].");
}

}  // namespace
}  // namespace tenon::testing
