// Where. The first case is the example of ONNX's operator definition; the others by hand.
#include <gtest/gtest.h>

#include <limits>

#include "tests/support/op_case.h"

namespace tenon::testing {
namespace {

TEST(Where, ChoosesByElement) {
  CheckCase({.op = "Where",
             .inputs = {Bool({2, 2}, {1, 0, 1, 1}), F32({2, 2}, {1, 2, 3, 4}), F32({2, 2}, {9, 8, 7, 6})},
             .expect = {F32({2, 2}, {1, 8, 3, 4})},
             .symbolic = true});
  CheckCase({.op = "Where",
             .inputs = {Bool({3}, {1, 0, 1}), I64({3}, {1, 2, 3}), I64({3}, {-1, -2, -3})},
             .expect = {I64({3}, {1, -2, 3})}});
  CheckCase({.op = "Where",
             .inputs = {Bool({2}, {0, 1}), Bool({2}, {1, 1}), Bool({2}, {0, 0})},
             .expect = {Bool({2}, {0, 1})}});
}

TEST(Where, BroadcastsAllThree) {
  CheckCase({.op = "Where",
             .inputs = {Bool({2, 1}, {1, 0}), F32({3}, {1, 2, 3}), F32({1, 1}, {9})},
             .expect = {F32({2, 3}, {1, 2, 3, 9, 9, 9})}});
  CheckCase({.op = "Where", .inputs = {Bool({}, {0}), F32({2}, {1, 2}), F32({}, {9})}, .expect = {F32({2}, {9, 9})}});
  CheckCase({.op = "Where", .inputs = {Bool({0, 1}, {}), F32({2}, {1, 2}), F32({}, {9})}, .expect = {F32({0, 2}, {})}});
}

// A NaN on the side that is not taken reaches neither the result nor the gradient of the other side.
TEST(Where, HidesWhatIsNotTaken) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CheckCase({.op = "Where",
             .inputs = {Bool({2}, {1, 0}), F32({2}, {1, nan}), F32({2}, {nan, 4})},
             .expect = {F32({2}, {1, 4})},
             .gradient = {-1}});
}

TEST(Where, NamesWhatIsWrong) {
  CheckFails({.op = "Where", .inputs = {Bool({2}, {1, 0}), F32({2}, {1, 2}), I64({2}, {1, 2})}, .expect = {}},
             "Where input Y has dtype (int64) but input X has (float32).");
  CheckFails({.op = "Where", .inputs = {F32({2}, {1, 0}), F32({2}, {1, 2}), F32({2}, {1, 2})}, .expect = {}},
             "Where input condition has dtype (float32); supported are bool.");
}

}  // namespace
}  // namespace tenon::testing
