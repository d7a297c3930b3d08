// Constant. Dtypes and shapes as ONNX's operator definition has them.
#include <gtest/gtest.h>

#include "tests/support/op_case.h"

namespace tenon::testing {
namespace {

using Ints = std::vector<std::int64_t>;

TEST(Constant, HasOneValue) {
  const auto is = [](const char* name, AttrValue value, const Tensor& expected) {
    CheckCase({.op = "Constant", .inputs = {}, .expect = {expected}, .attrs = {{name, value}}, .other_floats = false});
  };
  is("value", Bool({2}, {1, 0}), Bool({2}, {1, 0}));
  is("value_int", std::int64_t{7}, I64({}, {7}));
  is("value_ints", Ints{3, 4}, I64({2}, {3, 4}));
  is("value_float", 0.5, F32({}, {0.5}));
  is("value_floats", std::vector<double>{0.5, 2}, F32({2}, {0.5, 2}));
  is("value_ints", Ints{}, I64({0}, {}));
}

TEST(Constant, NamesWhatIsWrong) {
  CheckFails({.op = "Constant", .inputs = {}, .expect = {}}, "Constant needs exactly one value; 0 are given.");
  CheckFails(
      {.op = "Constant", .inputs = {}, .expect = {}, .attrs = {{"value_int", std::int64_t{1}}, {"value_float", 1.0}}},
      "Constant needs exactly one value; 2 are given.");
  CheckFails({.op = "Constant", .inputs = {}, .expect = {}, .version = 9},
             "Constant needs the attribute 'value' (tensor).");
}

}  // namespace
}  // namespace tenon::testing
