// Not. ONNX's operator definition.
#include <gtest/gtest.h>

#include "tests/support/op_case.h"

namespace tenon::testing {
namespace {

TEST(Not, Negates) {
  CheckCase({.op = "Not", .inputs = {Bool({3}, {1, 0, 1})}, .expect = {Bool({3}, {0, 1, 0})}, .symbolic = true});
  CheckCase({.op = "Not", .inputs = {Bool({}, {0})}, .expect = {Bool({}, {1})}});
  CheckCase({.op = "Not", .inputs = {Bool({2, 0}, {})}, .expect = {Bool({2, 0}, {})}});
}

}  // namespace
}  // namespace tenon::testing
