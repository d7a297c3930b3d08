// Tile. The first two cases are the examples of ONNX's operator definition; the others by hand.
#include <gtest/gtest.h>

#include "tests/support/op_case.h"

namespace tenon::testing {
namespace {

TEST(Tile, RepeatsAlongEveryAxis) {
  CheckCase({.op = "Tile",
             .inputs = {F32({2, 2}, {0, 1, 2, 3}), I64({2}, {2, 2})},
             .expect = {F32({4, 4}, {0, 1, 0, 1, 2, 3, 2, 3, 0, 1, 0, 1, 2, 3, 2, 3})},
             .symbolic = true});
  CheckCase(
      {.op = "Tile", .inputs = {I64({1, 2}, {5, 6}), I64({2}, {3, 1})}, .expect = {I64({3, 2}, {5, 6, 5, 6, 5, 6})}});
  CheckCase({.op = "Tile",
             .inputs = {Ramp({1, 2, 2}), I64({3}, {2, 1, 2})},
             .expect = {F32({2, 2, 4}, {0, 1, 0, 1, 2, 3, 2, 3, 0, 1, 0, 1, 2, 3, 2, 3})}});
  CheckCase({.op = "Tile", .inputs = {Bool({2}, {1, 0}), I64({1}, {2})}, .expect = {Bool({4}, {1, 0, 1, 0})}});
}

TEST(Tile, OfNothingAndScalars) {
  CheckCase({.op = "Tile", .inputs = {Ramp({2}), I64({1}, {0})}, .expect = {F32({0}, {})}});
  CheckCase({.op = "Tile", .inputs = {F32({0, 2}, {}), I64({2}, {3, 2})}, .expect = {F32({0, 4}, {})}});
  CheckCase({.op = "Tile", .inputs = {F32({}, {3}), I64({0}, {})}, .expect = {F32({}, {3})}});
}

TEST(Tile, SumsInItsGradientOperator) {
  CheckCase({.op = "TileGrad",
             .inputs = {F32({4}, {1, 2, 3, 4}), I64({1}, {2})},
             .expect = {F32({2}, {4, 6})},
             .attrs = {{"x_shape", std::vector<std::int64_t>{2}}},
             .domain = "tenon"});
}

TEST(Tile, NamesWhatIsWrong) {
  CheckFails({.op = "Tile", .inputs = {Ramp({2, 2}), I64({1}, {2})}, .expect = {}},
             "Tile of [2,2] needs 2 repeats; `repeats` has shape [1].");
  CheckFails({.op = "Tile", .inputs = {Ramp({2}), I64({1}, {-1})}, .expect = {}},
             "Tile repeats axis 0 of [2] a negative number of times (-1).");
}

}  // namespace
}  // namespace tenon::testing
