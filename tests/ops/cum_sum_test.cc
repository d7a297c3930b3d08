// CumSum. The first cases are the examples of ONNX's operator definition and its test data; the others by hand.
#include <gtest/gtest.h>

#include "tests/support/op_case.h"

namespace tenon::testing {
namespace {

OpCase Sums(const Tensor& x, std::int64_t axis, std::int64_t exclusive, std::int64_t reverse, const Tensor& expected) {
  return {.op = "CumSum",
          .inputs = {x, I64({}, {axis})},
          .expect = {expected},
          .attrs = {{"exclusive", exclusive}, {"reverse", reverse}},
          .symbolic = x.shape().rank() > 1};
}

TEST(CumSum, RunsAlongAnAxis) {
  const Tensor x = F32({3}, {1, 2, 3}), m = Ramp({2, 3}, 1);
  CheckCase(Sums(x, 0, 0, 0, F32({3}, {1, 3, 6})));
  CheckCase(Sums(x, 0, 1, 0, F32({3}, {0, 1, 3})));
  CheckCase(Sums(x, 0, 0, 1, F32({3}, {6, 5, 3})));
  CheckCase(Sums(x, 0, 1, 1, F32({3}, {5, 3, 0})));
  CheckCase(Sums(m, 0, 0, 0, F32({2, 3}, {1, 2, 3, 5, 7, 9})));
  CheckCase(Sums(m, 1, 0, 0, F32({2, 3}, {1, 3, 6, 4, 9, 15})));
  CheckCase(Sums(m, -1, 0, 1, F32({2, 3}, {6, 5, 3, 15, 11, 6})));
  CheckCase(Sums(Ramp({3, 2}, 1), 0, 1, 0, F32({3, 2}, {0, 0, 1, 2, 4, 6})));
  CheckCase(Sums(Ramp({3, 2}, 1), 0, 1, 1, F32({3, 2}, {8, 10, 5, 6, 0, 0})));
  CheckCase(Sums(I32({3}, {1, -2, 3}), 0, 0, 0, I32({3}, {1, -1, 2})));
  CheckCase(Sums(F32({2, 0}, {}), 1, 0, 0, F32({2, 0}, {})));
}

TEST(CumSum, NamesWhatIsWrong) {
  CheckFails(Sums(Ramp({2, 3}), 2, 0, 0, {}), "Axis (2) is outside [-2, 2) of a tensor of rank 2.");
  CheckFails(Sums(Of(DType::kU8, {1}, {1}), 0, 0, 0, {}),
             "CumSum input x has dtype (uint8); supported are float32, int32, int64, float16, float64, uint32, uint64, "
             "bfloat16.");
}

}  // namespace
}  // namespace tenon::testing
