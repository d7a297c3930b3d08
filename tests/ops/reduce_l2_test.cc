// ReduceL2. The tensor of ONNX's test data (test_reduce_l2_*), values from PyTorch 2.15; what stands beside a case otherwise.
#include <gtest/gtest.h>

#include <limits>

#include "tests/support/op_case.h"

namespace tenon::testing {
namespace {

TEST(ReduceL2, OverAxes) {
  const Tensor x = F32({3, 2, 2}, {5, 1, 20, 2, 30, 1, 40, 2, 55, 1, 60, 2});
  const Attributes drop{{"keepdims", std::int64_t{0}}};
  CheckCase({.op = "ReduceL2",
             .inputs = {x, I64({1}, {1})},
             .expect = {F32({3, 1, 2}, {20.615528106689453, 2.2360680103302, 50, 2.2360680103302, 81.39410400390625,
                                        2.2360680103302})},
             .symbolic = true,
             .other_floats = false});
  CheckCase({.op = "ReduceL2",
             .inputs = {x, I64({2}, {-1, 0})},
             .expect = {F32({2}, {62.872886657714844, 74.91328430175781})},
             .attrs = drop,
             .gradient = {0},
             .other_floats = false});
  CheckCase({.op = "ReduceL2",
             .inputs = {x},
             .expect = {F32({}, {97.80081939697266})},
             .attrs = drop,
             .gradient = {0},
             .other_floats = false});
  CheckCase({.op = "ReduceL2",
             .inputs = {x},
             .expect = {F32({3, 1, 2}, {20.615528106689453, 2.2360680103302, 50, 2.2360680103302, 81.39410400390625,
                                        2.2360680103302})},
             .attrs = {{"axes", std::vector<std::int64_t>{1}}},
             .version = 17,
             .other_floats = false});
}

// The first case is ONNX's test data (test_reduce_l2_keep_dims_example).
TEST(ReduceL2, TakesEveryDtype) {
  CheckCase({.op = "ReduceL2",
             .inputs = {Ramp({3, 2, 2}, 1), I64({1}, {2})},
             .expect = {F32({3, 2, 1}, {2.23606798, 5, 7.81024968, 10.63014581, 13.45362405, 16.2788206})}});
  CheckCase({.op = "ReduceL2", .inputs = {I32({2}, {3, -4})}, .expect = {I32({1}, {5})}});
}

TEST(ReduceL2, OfNothingAndNaN) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CheckCase({.op = "ReduceL2", .inputs = {F32({0, 2}, {}), I64({1}, {0})}, .expect = {F32({1, 2}, {0, 0})}});
  CheckCase({.op = "ReduceL2", .inputs = {F32({2}, {nan, 1})}, .expect = {F32({1}, {nan})}, .gradient = {-1}});
}

// Of the operands x with the norm y, where y has the gradient 3.
void CheckGradient(const Tensor& norm, const Tensor& operands, const Tensor& expect) {
  EagerGradBuilder builder;
  const Value x = builder.Constant(operands), y = builder.Constant(norm);
  const Value dy = builder.Constant(Cast(F32({1}, {3}), norm.dtype()));
  const OpDef* def = BuiltinOps().Find("", "ReduceL2").value();
  Attributes attrs;
  ASSERT_TRUE(def->Complete(attrs).ok());
  Value gradient;
  GradArgs args{attrs, std::span(&x, 1), std::span(&y, 1), std::span(&dy, 1), {true}, std::span(&gradient, 1)};
  ASSERT_TRUE(def->gradient()(builder, args).ok());
  ExpectNear(Cast(builder.tensor(gradient), DType::kF32), expect, 0, "gradient");
}

// torch.linalg.vector_norm gives 0 at 0.
TEST(ReduceL2, HasNoGradientAtZero) { CheckGradient(F32({1}, {0}), F32({2}, {0, 0}), F32({2}, {0, 0})); }

// dX = dY X / Y, where X / Y is at most 1 however small both are: the smallest number of float16.
TEST(ReduceL2, GradientOfSmallNumbersDoesNotOverflow) {
  const double smallest = 0x1p-24;
  CheckGradient(Cast(F32({1}, {smallest}), DType::kF16), Cast(F32({2}, {smallest, 0}), DType::kF16), F32({2}, {3, 0}));
}

}  // namespace
}  // namespace tenon::testing
