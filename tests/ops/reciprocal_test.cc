// Reciprocal. The first case is ONNX's test data.
#include <gtest/gtest.h>

#include <limits>

#include "tests/support/op_case.h"

namespace tenon::testing {
namespace {

TEST(Reciprocal, DividesOne) {
  const double inf = std::numeric_limits<double>::infinity();
  CheckCase({.op = "Reciprocal", .inputs = {F32({2}, {-4, 2})}, .expect = {F32({2}, {-0.25, 0.5})}, .symbolic = true});
  CheckCase({.op = "Reciprocal", .inputs = {F32({2}, {0, inf})}, .expect = {F32({2}, {inf, 0})}, .gradient = {-1}});
  CheckCase({.op = "Reciprocal", .inputs = {F32({0}, {})}, .expect = {F32({0}, {})}});
}

}  // namespace
}  // namespace tenon::testing
