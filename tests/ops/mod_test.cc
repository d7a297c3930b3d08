// Mod. The cases are ONNX's test data (test_mod_*).
#include <gtest/gtest.h>

#include <limits>

#include "tests/support/op_case.h"

namespace tenon::testing {
namespace {

OpCase Remainders(std::int64_t fmod, const Tensor& a, const Tensor& b, const Tensor& expected) {
  return {.op = "Mod", .inputs = {a, b}, .expect = {expected}, .attrs = {{"fmod", fmod}}};
}

TEST(Mod, HasTheSignOfTheDivisor) {
  const std::vector<std::int64_t> a{-4, 7, 5, 4, -7, 8}, b{2, -3, 8, -2, 3, 5};
  for (const DType dtype : {DType::kI8, DType::kI16, DType::kI32, DType::kI64}) {
    CheckCase(Remainders(0, Of(dtype, {6}, a), Of(dtype, {6}, b), Of(dtype, {6}, {0, -2, 5, 0, 2, 3})));
    CheckCase(Remainders(1, Of(dtype, {6}, a), Of(dtype, {6}, b), Of(dtype, {6}, {0, 1, 5, 0, -1, 3})));
  }
  CheckCase(
      Remainders(0, Of(DType::kU8, {3}, {4, 7, 5}), Of(DType::kU8, {3}, {2, 3, 8}), Of(DType::kU8, {3}, {0, 1, 5})));
  CheckCase(Remainders(0, I32({2, 3}, {0, 1, 2, 3, 4, 5}), I32({1}, {3}), I32({2, 3}, {0, 1, 2, 0, 1, 2})));
  const std::int64_t least = std::numeric_limits<std::int64_t>::min();
  CheckCase(Remainders(0, I64({1}, {least}), I64({1}, {-1}), I64({1}, {0})));
}

TEST(Mod, OfFloatsHasTheSignOfTheDividend) {
  OpCase row = Remainders(1, F32({6}, {-4.3, 7.2, 5.0, 4.3, -7.2, 8.0}), F32({6}, {2.1, -3.4, 8.0, -2.1, 3.4, 5.0}),
                          F32({6}, {-0.1, 0.4, 5, 0.1, -0.4, 3}));
  row.tolerance = 1e-6;
  row.other_floats = false;  // 16 bits do not hold 4.3
  CheckCase(row);
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  OpCase edges = Remainders(1, F32({3}, {nan, inf, 1}), F32({3}, {1, 2, inf}), F32({3}, {nan, nan, 1}));
  edges.gradient = {-1};
  CheckCase(edges);
}

TEST(Mod, NamesWhatIsWrong) {
  CheckFails(Remainders(0, F32({1}, {1}), F32({1}, {2}), {}), "Mod of float32 needs fmod 1; fmod 0 is for integers.");
  CheckFails(Remainders(0, I32({1}, {1}), I32({1}, {0}), {}), "Mod takes an integer (int32) modulo 0.");
}

}  // namespace
}  // namespace tenon::testing
