// GatherND. The first five cases are the examples of ONNX's operator definition.
#include <gtest/gtest.h>

#include "tests/support/op_case.h"

namespace tenon::testing {
namespace {

TEST(GatherND, TakesSlices) {
  const Tensor square = Ramp({2, 2}), cube = Ramp({2, 2, 2});
  CheckCase({.op = "GatherND", .inputs = {square, I64({2, 2}, {0, 0, 1, 1})}, .expect = {F32({2}, {0, 3})}});
  CheckCase({.op = "GatherND", .inputs = {square, I64({2, 1}, {1, 0})}, .expect = {F32({2, 2}, {2, 3, 0, 1})}});
  CheckCase({.op = "GatherND", .inputs = {cube, I64({2, 2}, {0, 1, 1, 0})}, .expect = {F32({2, 2}, {2, 3, 4, 5})}});
  CheckCase(
      {.op = "GatherND", .inputs = {cube, I64({2, 1, 2}, {0, 1, 1, 0})}, .expect = {F32({2, 1, 2}, {2, 3, 4, 5})}});
  CheckCase({.op = "GatherND",
             .inputs = {cube, I64({2, 1}, {1, 0})},
             .expect = {F32({2, 2}, {2, 3, 4, 5})},
             .attrs = {{"batch_dims", std::int64_t{1}}}});
  CheckCase({.op = "GatherND",
             .inputs = {cube, I64({2, 1}, {-1, -1})},
             .expect = {F32({2, 2, 2}, {4, 5, 6, 7, 4, 5, 6, 7})}});
  CheckCase({.op = "GatherND", .inputs = {I64({3}, {7, 8, 9}), I64({1}, {2})}, .expect = {I64({}, {9})}});
  CheckCase({.op = "GatherND", .inputs = {square, I64({0, 1}, {})}, .expect = {F32({0, 2}, {})}});
}

TEST(GatherND, AddsInItsGradientOperator) {
  CheckCase({.op = "GatherNDGrad",
             .inputs = {F32({2, 2}, {1, 2, 3, 4}), I64({2, 1}, {1, -1})},
             .expect = {F32({2, 2}, {0, 0, 4, 6})},
             .attrs = {{"x_shape", std::vector<std::int64_t>{2, 2}}},
             .domain = "tenon"});
}

TEST(GatherND, NamesWhatIsWrong) {
  CheckFails({.op = "GatherND", .inputs = {Ramp({2, 3}), I64({1, 2}, {1, 3})}, .expect = {}},
             "GatherND index 3 is outside [-3, 3), the limits of axis 1 of [2,3].");
  CheckFails({.op = "GatherND", .inputs = {Ramp({2, 3}), I64({1, 3}, {1, 1, 1})}, .expect = {}},
             "GatherND has tuples of 3 indices; the data [2,3] behind 0 batch dims takes 1 to 2.");
  CheckFails({.op = "GatherND",
              .inputs = {Ramp({2, 3}), I64({3, 1}, {1, 1, 1})},
              .expect = {},
              .attrs = {{"batch_dims", std::int64_t{1}}}},
             "GatherND batch dim 0 is 2 in the data [2,3] and 3 in the indices [3,1].");
}

}  // namespace
}  // namespace tenon::testing
