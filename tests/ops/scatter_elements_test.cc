// ScatterElements. The first cases are ONNX's test data (test_scatter_elements_*); the others by hand from the definition.
#include <gtest/gtest.h>

#include <limits>

#include "tests/support/op_case.h"

namespace tenon::testing {
namespace {

OpCase Scattered(const char* reduction, const Tensor& data, const Tensor& indices, const Tensor& updates,
                 const Tensor& expected) {
  return {.op = "ScatterElements",
          .inputs = {data, indices, updates},
          .expect = {expected},
          .attrs = {{"axis", std::int64_t{-1}}, {"reduction", std::string(reduction)}}};
}

TEST(ScatterElements, Replaces) {
  CheckCase({.op = "ScatterElements",
             .inputs = {F32({3, 3}, {0, 0, 0, 0, 0, 0, 0, 0, 0}), I64({2, 3}, {1, 0, 2, 0, 2, 1}),
                        F32({2, 3}, {1.0, 1.1, 1.2, 2.0, 2.1, 2.2})},
             .expect = {F32({3, 3}, {2.0, 1.1, 0, 1.0, 0, 2.2, 0, 2.1, 1.2})}});
  const Tensor row = F32({1, 5}, {1, 2, 3, 4, 5});
  CheckCase(Scattered("none", row, I64({1, 2}, {1, 3}), F32({1, 2}, {1.1, 2.1}), F32({1, 5}, {1, 1.1, 3, 2.1, 5})));
  CheckCase(Scattered("none", row, I32({1, 2}, {1, -3}), F32({1, 2}, {1.1, 2.1}), F32({1, 5}, {1, 1.1, 2.1, 4, 5})));
  CheckCase(Scattered("none", Bool({2}, {0, 0}), I64({1}, {1}), Bool({1}, {1}), Bool({2}, {0, 1})));
  CheckCase(Scattered("none", row, I64({1, 0}, {}), F32({1, 0}, {}), row));
  CheckCase({.op = "ScatterElements",
             .inputs = {row, I64({1, 1}, {0}), F32({1, 1}, {7})},
             .expect = {F32({1, 5}, {7, 2, 3, 4, 5})},
             .version = 11});
}

TEST(ScatterElements, Joins) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Tensor row = F32({1, 5}, {1, 2, 3, 4, 5}), indices = I64({1, 2}, {1, 1});
  const auto joined = [&](const char* reduction, const Tensor& updates, const Tensor& expected,
                          std::vector<int> gradient) {
    OpCase row_case = Scattered(reduction, row, indices, updates, expected);
    row_case.gradient = std::move(gradient);
    CheckCase(row_case);
  };
  joined("add", F32({1, 2}, {1.1, 2.1}), F32({1, 5}, {1, 5.2, 3, 4, 5}), {0, 2});
  joined("mul", F32({1, 2}, {1.1, 2.1}), F32({1, 5}, {1, 4.62, 3, 4, 5}), {-1});
  joined("max", F32({1, 2}, {1.1, 2.1}), F32({1, 5}, {1, 2.1, 3, 4, 5}), {-1});
  joined("min", F32({1, 2}, {1.1, 2.1}), F32({1, 5}, {1, 1.1, 3, 4, 5}), {-1});
  joined("max", F32({1, 2}, {nan, 9}), F32({1, 5}, {1, nan, 3, 4, 5}), {-1});
  CheckCase(Scattered("add", I32({2}, {1, 2}), I64({2}, {0, 0}), I32({2}, {5, 6}), I32({2}, {12, 2})));
}

TEST(ScatterElements, NamesWhatIsWrong) {
  const Tensor row = Ramp({1, 5});
  CheckFails(Scattered("none", row, I64({1, 1}, {5}), F32({1, 1}, {1}), {}),
             "ScatterElements index 5 is outside [-5, 5), the limits of axis 1 of [1,5].");
  CheckFails(Scattered("sum", row, I64({1, 1}, {0}), F32({1, 1}, {1}), {}),
             "ScatterElements reduction 'sum' is not supported; supported are none, add, mul, max and min.");
  CheckFails(Scattered("none", row, I64({1, 1}, {0}), F32({1, 2}, {1, 2}), {}),
             "ScatterElements has indices [1,1], but updates [1,2].");
  OpCase old = Scattered("max", row, I64({1, 1}, {0}), F32({1, 1}, {1}), {});
  old.version = 16;
  CheckFails(old, "ScatterElements reduction 'max' is not supported; supported are none, add and mul.");
}

TEST(ScatterElements, HasNoGradientOfAProduct) {
  EagerGradBuilder builder;
  const std::vector<Value> inputs(3, builder.Constant(F32({1}, {1})));
  const OpDef* def = BuiltinOps().Find("", "ScatterElements").value();
  Attributes attrs{{"reduction", std::string("mul")}};
  ASSERT_TRUE(def->Complete(attrs).ok());
  std::vector<Value> gradients(3);
  GradArgs args{attrs, inputs, std::span(inputs).first(1), std::span(inputs).first(1), {true, false, true}, gradients};
  EXPECT_EQ(def->gradient()(builder, args).message(),
            "ScatterElements with reduction 'mul' has no gradient; none and add have one.");
}

}  // namespace
}  // namespace tenon::testing
