// EyeLike. Values from numpy.eye, by which ONNX's operator definition is tested.
#include <gtest/gtest.h>

#include "tests/support/op_case.h"

namespace tenon::testing {
namespace {

TEST(EyeLike, HasOnesOnADiagonal) {
  const auto dtype = [](DType wanted) { return AttrValue(static_cast<std::int64_t>(wanted)); };
  CheckCase({.op = "EyeLike",
             .inputs = {I32({2, 2}, {5, 6, 7, 8})},
             .expect = {I32({2, 2}, {1, 0, 0, 1})},
             .symbolic = true});
  CheckCase({.op = "EyeLike",
             .inputs = {Ramp({3, 4})},
             .expect = {F64({3, 4}, {0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1})},
             .attrs = {{"dtype", dtype(DType::kF64)}, {"k", std::int64_t{1}}}});
  CheckCase({.op = "EyeLike",
             .inputs = {Bool({3, 2}, {0, 0, 0, 0, 0, 0})},
             .expect = {Bool({3, 2}, {0, 0, 1, 0, 0, 1})},
             .attrs = {{"k", std::int64_t{-1}}}});
  CheckCase({.op = "EyeLike", .inputs = {F32({0, 2}, {})}, .expect = {F32({0, 2}, {})}});
  CheckFails({.op = "EyeLike", .inputs = {Ramp({3})}, .expect = {}},
             "EyeLike needs a matrix; the input has shape [3].");
}

}  // namespace
}  // namespace tenon::testing
