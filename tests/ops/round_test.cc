// Round. The first case is ONNX's test data.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/support/op_case.h"

namespace tenon::testing {
namespace {

TEST(Round, TakesHalvesToTheEvenNumber) {
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  CheckCase({.op = "Round",
             .inputs = {F32({15}, {0.1, 0.5, 0.9, 1.2, 1.5, 1.8, 2.3, 2.5, 2.7, -1.1, -1.5, -1.9, -2.2, -2.5, -2.8})},
             .expect = {F32({15}, {0, 0, 1, 1, 2, 2, 2, 2, 3, -1, -2, -2, -2, -2, -3})},
             .symbolic = true});
  CheckCase({.op = "Round", .inputs = {F32({3}, {nan, inf, -inf})}, .expect = {F32({3}, {nan, inf, -inf})}});
  CheckCase({.op = "Round",
             .inputs = {F32({2}, {8388609, -8388609})},
             .expect = {F32({2}, {8388609, -8388609})},
             .other_floats = false});
}

// As torch.round and numpy.round: -0.4 becomes -0.
TEST(Round, KeepsTheSignOfZero) {
  const Tensor y = Outputs({.op = "Round", .inputs = {F32({2}, {-0.4, -0.5})}, .expect = {}})[0];
  EXPECT_TRUE(std::signbit(y.data<float>()[0]));
  EXPECT_TRUE(std::signbit(y.data<float>()[1]));
}

}  // namespace
}  // namespace tenon::testing
