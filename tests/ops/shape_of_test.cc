// Shape. Cases of ONNX's test data (test_shape_*): a tensor [3, 4, 5] with start and end.
#include <gtest/gtest.h>

#include "tests/support/op_case.h"

namespace tenon::testing {
namespace {

OpCase Extents(const Attributes& attrs, const std::vector<std::int64_t>& expected) {
  return {.op = "Shape",
          .inputs = {Ramp({3, 4, 5})},
          .expect = {I64({static_cast<std::int64_t>(expected.size())}, expected)},
          .attrs = attrs};
}

TEST(Shape, ListsTheExtents) {
  const auto attr = [](std::int64_t value) { return AttrValue(value); };
  CheckCase(Extents({}, {3, 4, 5}));
  CheckCase(Extents({{"start", attr(1)}}, {4, 5}));
  CheckCase(Extents({{"end", attr(1)}}, {3}));
  CheckCase(Extents({{"start", attr(-1)}}, {5}));
  CheckCase(Extents({{"end", attr(-1)}}, {3, 4}));
  CheckCase(Extents({{"start", attr(1)}, {"end", attr(-1)}}, {4}));
  CheckCase(Extents({{"start", attr(-10)}, {"end", attr(10)}}, {3, 4, 5}));
  CheckCase(Extents({{"start", attr(2)}, {"end", attr(1)}}, {}));
  CheckCase({.op = "Shape", .inputs = {F32({}, {1})}, .expect = {I64({0}, {})}});
  CheckCase({.op = "Shape", .inputs = {Bool({0, 2}, {})}, .expect = {I64({2}, {0, 2})}, .version = 1});
  CheckFails({.op = "Shape", .inputs = {Ramp({2})}, .expect = {}, .attrs = {{"start", attr(1)}}, .version = 14},
             "Shape has no attribute 'start'. It has none.");
}

}  // namespace
}  // namespace tenon::testing
