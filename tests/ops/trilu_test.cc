// Trilu. Values from numpy.triu and numpy.tril, by which ONNX's operator definition explains it.
#include <gtest/gtest.h>

#include "tests/support/op_case.h"

namespace tenon::testing {
namespace {

OpCase Triangle(std::int64_t upper, std::int64_t k, const std::vector<double>& expected) {
  return {.op = "Trilu",
          .inputs = {Ramp({3, 4}, 1), I64({}, {k})},
          .expect = {F32({3, 4}, expected)},
          .attrs = {{"upper", upper}},
          .symbolic = true};
}

TEST(Trilu, KeepsATriangle) {
  CheckCase(Triangle(1, 0, {1, 2, 3, 4, 0, 6, 7, 8, 0, 0, 11, 12}));
  CheckCase(Triangle(1, 1, {0, 2, 3, 4, 0, 0, 7, 8, 0, 0, 0, 12}));
  CheckCase(Triangle(1, -1, {1, 2, 3, 4, 5, 6, 7, 8, 0, 10, 11, 12}));
  CheckCase(Triangle(1, 9, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
  CheckCase(Triangle(0, 0, {1, 0, 0, 0, 5, 6, 0, 0, 9, 10, 11, 0}));
  CheckCase(Triangle(0, 1, {1, 2, 0, 0, 5, 6, 7, 0, 9, 10, 11, 12}));
  CheckCase(Triangle(0, -1, {0, 0, 0, 0, 5, 0, 0, 0, 9, 10, 0, 0}));
}

TEST(Trilu, OfStacksAndNothing) {
  CheckCase({.op = "Trilu",
             .inputs = {I64({2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8})},
             .expect = {I64({2, 2, 2}, {1, 2, 0, 4, 5, 6, 0, 8})}});
  CheckCase({.op = "Trilu", .inputs = {Bool({2, 2}, {1, 1, 1, 1})}, .expect = {Bool({2, 2}, {1, 1, 0, 1})}});
  CheckCase({.op = "Trilu", .inputs = {F32({2, 0}, {})}, .expect = {F32({2, 0}, {})}});
  CheckFails({.op = "Trilu", .inputs = {Ramp({3})}, .expect = {}},
             "Trilu needs a matrix or a stack of them; the input has shape [3].");
}

}  // namespace
}  // namespace tenon::testing
