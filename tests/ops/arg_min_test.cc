// ArgMin. The first cases are ONNX's test data (test_argmin_*_example); NaN as torch.argmin has it.
#include <gtest/gtest.h>

#include <limits>

#include "tests/support/op_case.h"

namespace tenon::testing {
namespace {

OpCase Least(const Tensor& x, const Attributes& attrs, const Tensor& expected) {
  return {.op = "ArgMin", .inputs = {x}, .expect = {expected}, .attrs = attrs, .symbolic = false};
}

TEST(ArgMin, FindsThePosition) {
  const auto number = [](std::int64_t value) { return AttrValue(value); };
  const Tensor x = F32({2, 2}, {2, 1, 3, 10}), ties = F32({2, 2}, {2, 2, 3, 10});
  CheckCase(Least(x, {{"axis", number(1)}}, I64({2, 1}, {1, 0})));
  CheckCase(Least(x, {{"axis", number(-1)}, {"keepdims", number(0)}}, I64({2}, {1, 0})));
  CheckCase(Least(x, {}, I64({1, 2}, {0, 0})));
  CheckCase(Least(ties, {{"axis", number(1)}, {"select_last_index", number(1)}}, I64({2, 1}, {1, 0})));
  CheckCase(Least(Of(DType::kU8, {3}, {100, 200, 150}), {{"keepdims", number(0)}}, I64({}, {0})));
  CheckCase(Least(Ramp({2, 3, 2}), {{"axis", number(1)}, {"keepdims", number(0)}}, I64({2, 2}, {0, 0, 0, 0})));
}

TEST(ArgMin, TakesNaNAndNothing) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CheckCase(Least(F32({4}, {1, nan, 3, nan}), {}, I64({1}, {1})));
  CheckCase(Least(F32({4}, {1, nan, 3, nan}), {{"select_last_index", std::int64_t{1}}}, I64({1}, {3})));
  CheckCase(Least(F32({2, 0}, {}), {}, I64({1, 0}, {})));
  CheckFails(Least(F32({2, 0}, {}), {{"axis", std::int64_t{1}}}, {}),
             "Axis 1 of [2,0] has no elements to choose from.");
}

}  // namespace
}  // namespace tenon::testing
