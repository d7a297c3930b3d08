// Elementwise operators. Listed values: by hand from the definitions, transcendental ones from PyTorch 2.15 in float64.
#include <gtest/gtest.h>

#include <limits>

#include "tests/support/op_case.h"

namespace tenon::testing {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

TEST(Arithmetic, BroadcastsAsNumpy) {
  const Tensor a = F32({2, 3}, {1, 2, 3, 4, 5, 6}), row = F32({3}, {10, 20, 30}), column = F32({2, 1}, {2, 4});
  CheckCase({.op = "Add", .inputs = {a, row}, .expect = {F32({2, 3}, {11, 22, 33, 14, 25, 36})}, .symbolic = true});
  CheckCase({.op = "Sub", .inputs = {a, row}, .expect = {F32({2, 3}, {-9, -18, -27, -6, -15, -24})}, .symbolic = true});
  CheckCase({.op = "Mul", .inputs = {a, column}, .expect = {F32({2, 3}, {2, 4, 6, 16, 20, 24})}, .symbolic = true});
  CheckCase(
      {.op = "Div", .inputs = {a, column}, .expect = {F32({2, 3}, {0.5, 1, 1.5, 1, 1.25, 1.5})}, .symbolic = true});
  CheckCase({.op = "Add", .inputs = {column, row}, .expect = {F32({2, 3}, {12, 22, 32, 14, 24, 34})}});
  CheckCase({.op = "Mul", .inputs = {row, column}, .expect = {F32({2, 3}, {20, 40, 60, 40, 80, 120})}});
  CheckCase({.op = "Add", .inputs = {a, F32({}, {1})}, .expect = {F32({2, 3}, {2, 3, 4, 5, 6, 7})}});
  CheckCase({.op = "Sub", .inputs = {F32({}, {1}), F32({}, {3})}, .expect = {F32({}, {-2})}});
  CheckCase({.op = "Div", .inputs = {Random({2, 3, 2}, 1, 2), Random({3, 1}, 1, 3, 5)}, .expect = {}});
}

TEST(Arithmetic, TakesEmptyTensors) {
  for (const char* op : {"Add", "Sub", "Mul", "Div"}) {
    CheckCase({.op = op, .inputs = {F32({0, 3}, {}), F32({3}, {1, 2, 3})}, .expect = {F32({0, 3}, {})}});
    CheckCase({.op = op, .inputs = {F32({2, 0}, {}), F32({2, 1}, {1, 2})}, .expect = {F32({2, 0}, {})}});
  }
}

TEST(Arithmetic, KeepsIntegersExact) {
  const std::int64_t big = (std::int64_t{1} << 53) + 1;  // lost in a double
  CheckCase({.op = "Add", .inputs = {I64({2}, {big, -big}), I64({}, {2})}, .expect = {I64({2}, {big + 2, 2 - big})}});
  CheckCase({.op = "Mul", .inputs = {I64({1}, {big}), I64({1}, {3})}, .expect = {I64({1}, {big * 3})}});
  CheckCase({.op = "Div",
             .inputs = {I64({4}, {7, -7, 7, -7}), I64({4}, {2, 2, -2, -2})},
             .expect = {I64({4}, {3, -3, -3, 3})}});
  CheckCase({.op = "Add",
             .inputs = {Of(DType::kI8, {2}, {127, -128}), Of(DType::kI8, {2}, {1, -1})},
             .expect = {Of(DType::kI8, {2}, {-128, 127})}});
  CheckCase({.op = "Sub",
             .inputs = {Of(DType::kU8, {1}, {3}), Of(DType::kU8, {1}, {5})},
             .expect = {Of(DType::kU8, {1}, {254})}});
  constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();
  CheckCase({.op = "Div", .inputs = {I64({1}, {least}), I64({1}, {-1})}, .expect = {I64({1}, {least})}});
  CheckCase({.op = "Neg", .inputs = {I64({3}, {5, -7, least})}, .expect = {I64({3}, {-5, 7, least})}});
}

TEST(Arithmetic, NamesWhatIsWrong) {
  CheckFails({.op = "Div", .inputs = {I64({3}, {1, 2, 3}), I64({3}, {1, 0, 0})}, .expect = {}},
             "Div divides integers (int64) by zero: element 1 of B is 0.");
  CheckFails({.op = "Add", .inputs = {F32({2, 3}, {1, 2, 3, 4, 5, 6}), F32({2}, {1, 2})}, .expect = {}},
             "Shapes [2,3] and [2] do not broadcast: 3 against 2.");
  CheckFails({.op = "Add", .inputs = {F32({1}, {1}), I64({1}, {1})}, .expect = {}},
             "Add input B has dtype (int64) but input A has (float32).");
  CheckFails({.op = "Add", .inputs = {F32({1}, {1})}, .expect = {}}, "Add needs input 1 ('B').");
  CheckFails(
      {.op = "Neg", .inputs = {Of(DType::kU8, {1}, {1})}, .expect = {}},
      "Neg input X has dtype (uint8); supported are float32, int8, int16, int32, int64, float16, float64, bfloat16.");
}

TEST(Unary, GivesListedValues) {
  const Tensor x = F32({5}, {-2, -0.5, 0, 0.5, 3});
  CheckCase({.op = "Neg", .inputs = {x}, .expect = {F32({5}, {2, 0.5, 0, -0.5, -3})}, .symbolic = true});
  CheckCase({.op = "Exp", .inputs = {x}, .expect = {F32({5}, {0.1353353, 0.6065307, 1, 1.648721, 20.08554})}});
  CheckCase({.op = "Sigmoid", .inputs = {x}, .expect = {F32({5}, {0.1192029, 0.3775407, 0.5, 0.6224593, 0.9525741})}});
  CheckCase({.op = "Tanh", .inputs = {x}, .expect = {F32({5}, {-0.9640276, -0.4621172, 0, 0.4621172, 0.9950548})}});
  CheckCase({.op = "Log",
             .inputs = {F32({4}, {0.5, 1, 2.5, 10})},
             .expect = {F32({4}, {-0.6931472, 0, 0.9162907, 2.302585})}});
  CheckCase(
      {.op = "Sqrt", .inputs = {F32({4}, {0.25, 2, 3, 100})}, .expect = {F32({4}, {0.5, 1.414214, 1.732051, 10})}});
  CheckCase({.op = "Identity", .inputs = {x}, .expect = {x}, .symbolic = true});
}

TEST(Unary, StandsExtremes) {
  CheckCase({.op = "Sigmoid",
             .inputs = {F32({4}, {-1000, 1000, -kInf, kNan})},
             .expect = {F32({4}, {0, 1, 0, kNan})},
             .gradient = {-1},
             .other_floats = false});
  CheckCase({.op = "Tanh",
             .inputs = {F32({3}, {-1000, 1000, kNan})},
             .expect = {F32({3}, {-1, 1, kNan})},
             .gradient = {-1},
             .other_floats = false});
  CheckCase({.op = "Log", .inputs = {F32({2}, {0, -1})}, .expect = {F32({2}, {-kInf, kNan})}, .gradient = {-1}});
  CheckCase({.op = "Sqrt", .inputs = {F32({2}, {0, -1})}, .expect = {F32({2}, {0, kNan})}, .gradient = {-1}});
  for (const char* op : {"Neg", "Exp", "Sigmoid", "Tanh", "Log", "Sqrt", "Relu", "LeakyRelu", "Identity"}) {
    CheckCase({.op = op, .inputs = {F32({2, 0}, {})}, .expect = {F32({2, 0}, {})}, .symbolic = true});
    CheckCase({.op = op, .inputs = {F32({}, {1.5})}, .expect = {}});
  }
}

TEST(Relu, LetsNanThrough) {
  CheckCase({.op = "Relu",
             .inputs = {F32({5}, {-1, 2, kNan, kInf, -kInf})},
             .expect = {F32({5}, {0, 2, kNan, kInf, 0})},
             .gradient = {-1}});
  CheckCase(
      {.op = "Relu", .inputs = {F32({2, 2}, {-1, 2, 3, -4})}, .expect = {F32({2, 2}, {0, 2, 3, 0})}, .symbolic = true});
  CheckCase({.op = "Relu", .inputs = {I32({3}, {-1, 0, 2})}, .expect = {I32({3}, {0, 0, 2})}});
  CheckCase({.op = "ReluGrad",
             .inputs = {F32({3}, {5, 6, 7}), F32({3}, {0, 1, 2})},
             .expect = {F32({3}, {0, 6, 7})},
             .domain = "tenon",
             .gradient = {0}});
  CheckCase({.op = "LeakyRelu",
             .inputs = {F32({5}, {-2, -0.5, 0.1, 0.5, 3})},
             .expect = {F32({5}, {-0.4, -0.1, 0.1, 0.5, 3})},
             .attrs = {{"alpha", 0.2}}});
  CheckCase({.op = "LeakyRelu", .inputs = {F32({1}, {-3})}, .expect = {F32({1}, {-0.03})}});
}

TEST(Gelu, HasTwoForms) {
  const Tensor x = F32({5}, {-2, -0.5, 0, 0.5, 3});
  CheckCase({.op = "Gelu",
             .inputs = {x},
             .expect = {F32({5}, {-0.04550026, -0.1542688, 0, 0.3457312, 2.99595})},
             .symbolic = true});
  CheckCase({.op = "Gelu",
             .inputs = {x},
             .expect = {F32({5}, {-0.04540231, -0.154286, 0, 0.345714, 2.996363})},
             .attrs = {{"approximate", std::string("tanh")}}});
  CheckFails({.op = "Gelu", .inputs = {x}, .expect = {}, .attrs = {{"approximate", std::string("fast")}}},
             "Gelu approximate is 'fast'; it can be none or tanh.");
}

TEST(Clip, BoundsAndLetsNanThrough) {
  const Tensor x = F32({4}, {-3, 0.5, 2, 7});
  CheckCase({.op = "Clip",
             .inputs = {x, F32({}, {-1}), F32({}, {3})},
             .expect = {F32({4}, {-1, 0.5, 2, 3})},
             .gradient = {0},
             .symbolic = true});
  CheckCase(
      {.op = "Clip", .inputs = {x, Tensor(), F32({}, {3})}, .expect = {F32({4}, {-3, 0.5, 2, 3})}, .gradient = {0}});
  CheckCase({.op = "Clip", .inputs = {x}, .expect = {x}});
  CheckCase({.op = "Clip",
             .inputs = {x},
             .expect = {F32({4}, {-1, 0.5, 2, 3})},
             .attrs = {{"min", -1.0}, {"max", 3.0}},
             .version = 6});
  CheckCase({.op = "Clip",
             .inputs = {F32({2}, {kNan, kInf}), F32({}, {-1}), F32({}, {3})},
             .expect = {F32({2}, {kNan, 3})},
             .gradient = {-1}});
  CheckCase(
      {.op = "Clip", .inputs = {x, F32({}, {5}), F32({}, {1})}, .expect = {F32({4}, {1, 1, 1, 1})}, .gradient = {-1}});
  CheckCase({.op = "Clip", .inputs = {I64({2}, {-9, 9}), I64({}, {0})}, .expect = {I64({2}, {0, 9})}});
  CheckFails({.op = "Clip", .inputs = {x, F32({2}, {1, 2})}, .expect = {}}, "Clip min is a scalar; it has shape [2].");
}

TEST(GradientOperators, HaveGradientsThemselves) {
  const Tensor dy = Random({2, 3}, -1, 1, 3), y = Random({2, 3}, 0.1, 0.9, 4);
  for (const char* op : {"SigmoidGrad", "TanhGrad"}) {
    CheckCase({.op = op, .inputs = {dy, y}, .expect = {}, .domain = "tenon", .symbolic = true});
  }
  CheckCase({.op = "LeakyReluGrad", .inputs = {dy, y}, .expect = {}, .domain = "tenon", .gradient = {0}});
  CheckFails({.op = "TanhGrad", .inputs = {dy, F32({2}, {1, 2})}, .expect = {}, .domain = "tenon"},
             "The shape of input 1 ([2]) is not that of input 0 ([2,3]).");
}

TEST(Pow, FollowsTheDefinition) {
  CheckCase({.op = "Pow",
             .inputs = {F32({1, 3}, {0.5, 2, 3}), F32({2, 1}, {2, 0.5})},
             .expect = {F32({2, 3}, {0.25, 4, 9, 0.7071068, 1.414214, 1.732051})}});
  CheckCase({.op = "Pow",
             .inputs = {I64({3}, {3, -2, 7}), I64({3}, {39, 3, 0})},
             .expect = {I64({3}, {4052555153018976267, -8, 1})}});
  CheckCase({.op = "Pow", .inputs = {F32({2}, {2, 3}), I64({2}, {3, 2})}, .expect = {F32({2}, {8, 9})}});
  CheckFails({.op = "Pow", .inputs = {I64({1}, {2}), I64({1}, {-1})}, .expect = {}},
             "Pow raises an integer (int64) to a negative power (-1).");
  // At 0: d(x^2) = 0, d(x^0) = 0 (not 0 * inf), and the exponent's side is 0.
  const auto grads = Outputs({.op = "PowGrad",
                              .inputs = {F32({2}, {1, 1}), F32({2}, {0, 0}), F32({2}, {2, 0})},
                              .expect = {},
                              .domain = "tenon",
                              .outputs = 2});
  ExpectNear(grads[0], F32({2}, {0, 0}), 0, "dX");
  ExpectNear(grads[1], F32({2}, {0, 0}), 0, "dY");
}

TEST(Variadic, FoldsAndBroadcasts) {
  const Tensor a = F32({2, 2}, {1, 2, 3, 4}), b = F32({2}, {10, -20}), c = F32({2, 1}, {0.5, 7});
  CheckCase({.op = "Sum", .inputs = {a, b, c}, .expect = {F32({2, 2}, {11.5, -17.5, 20, -9})}, .symbolic = true});
  CheckCase({.op = "Mean", .inputs = {a, b}, .expect = {F32({2, 2}, {5.5, -9, 6.5, -8})}, .symbolic = true});
  CheckCase({.op = "Max", .inputs = {a, b, c}, .expect = {F32({2, 2}, {10, 2, 10, 7})}, .symbolic = true});
  CheckCase({.op = "Sum", .inputs = {a}, .expect = {a}});
  CheckCase({.op = "Min", .inputs = {a, b, c}, .expect = {F32({2, 2}, {0.5, -20, 3, -20})}, .symbolic = true});
  CheckCase({.op = "Min",
             .inputs = {F32({2}, {1, kNan}), F32({2}, {kNan, 5})},
             .expect = {F32({2}, {kNan, kNan})},
             .gradient = {-1}});
  CheckCase({.op = "Max",
             .inputs = {F32({3}, {1, kNan, 3}), F32({3}, {2, 5, kNan})},
             .expect = {F32({3}, {2, kNan, kNan})},
             .gradient = {-1}});
  CheckCase({.op = "Max", .inputs = {I64({2}, {1, 9}), I64({2}, {3, -2})}, .expect = {I64({2}, {3, 9})}});
  // Ties share the gradient.
  const auto grads = Outputs({.op = "MaxGrad",
                              .inputs = {F32({1}, {6}), F32({1}, {2}), F32({1}, {2}), F32({1}, {2}), F32({1}, {1})},
                              .expect = {},
                              .domain = "tenon",
                              .outputs = 3});
  ExpectNear(grads[0], F32({1}, {3}), 0, "first");
  ExpectNear(grads[2], F32({1}, {0}), 0, "third");
}

TEST(Cast, Converts) {
  const auto to = [](DType dtype) { return Attributes{{"to", static_cast<std::int64_t>(dtype)}}; };
  CheckCase({.op = "Cast",
             .inputs = {F32({4}, {-1.9, 0, 1.9, 300})},
             .expect = {I32({4}, {-1, 0, 1, 300})},
             .attrs = to(DType::kI32),
             .gradient = {-1},
             .symbolic = true,
             .other_floats = false});
  CheckCase({.op = "Cast",
             .inputs = {F32({3}, {0, 0.5, kNan})},
             .expect = {Bool({3}, {0, 1, 1})},
             .attrs = to(DType::kBool),
             .gradient = {-1},
             .other_floats = false});
  CheckCase({.op = "Cast",
             .inputs = {F32({2}, {1.5, -2})},
             .expect = {F64({2}, {1.5, -2})},
             .attrs = to(DType::kF64),
             .other_floats = false});
  CheckCase({.op = "Cast", .inputs = {Bool({2}, {1, 0})}, .expect = {F32({2}, {1, 0})}, .attrs = to(DType::kF32)});
  // Halfway cases of binary16 round to even.
  CheckCase({.op = "Cast",
             .inputs = {F32({3}, {2049, 2051, 70000})},
             .expect = {Cast(F32({3}, {2048, 2052, kInf}), DType::kF16)},
             .attrs = to(DType::kF16),
             .gradient = {-1},
             .other_floats = false});
  CheckFails(
      {.op = "Cast", .inputs = {F32({1}, {1})}, .expect = {}, .attrs = {{"to", std::int64_t{8}}}},
      "Cast to dtype number 8 is not supported; supported are float32, uint8, int8, uint16, int16, int32, int64, "
      "bool, float16, float64, uint32, uint64, bfloat16.");
}

}  // namespace
}  // namespace tenon::testing
