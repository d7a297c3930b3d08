// Equal. Values from the comparison of ONNX's operator definition (numpy's equal).
#include <gtest/gtest.h>

#include <limits>

#include "tests/support/op_case.h"

namespace tenon::testing {
namespace {

TEST(Equal, ComparesByElement) {
  CheckCase({.op = "Equal",
             .inputs = {F32({4}, {1, 2, 3, -1}), F32({4}, {2, 2, 1, -1})},
             .expect = {Bool({4}, {0, 1, 0, 1})},
             .symbolic = true});
  CheckCase({.op = "Equal",
             .inputs = {I64({4}, {1, 2, 3, -1}), I64({4}, {2, 2, 1, -1})},
             .expect = {Bool({4}, {0, 1, 0, 1})}});
  CheckCase(
      {.op = "Equal", .inputs = {Of(DType::kU8, {1}, {200}), Of(DType::kU8, {1}, {100})}, .expect = {Bool({1}, {0})}});
}

TEST(Equal, Broadcasts) {
  CheckCase({.op = "Equal",
             .inputs = {F32({2, 1}, {1, 2}), F32({3}, {0, 1, 2})},
             .expect = {Bool({2, 3}, {0, 1, 0, 0, 0, 1})}});
  CheckCase({.op = "Equal", .inputs = {F32({0}, {}), F32({}, {1})}, .expect = {Bool({0}, {})}});
}

TEST(Equal, WithNaNIsFalse) {
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  CheckCase({.op = "Equal",
             .inputs = {F32({4}, {nan, 1, nan, inf}), F32({4}, {1, nan, nan, inf})},
             .expect = {Bool({4}, {0, 0, 0, 1})}});
}

TEST(Equal, TakesBools) {
  CheckCase({.op = "Equal", .inputs = {Bool({2}, {1, 0}), Bool({2}, {1, 1})}, .expect = {Bool({2}, {1, 0})}});
}

}  // namespace
}  // namespace tenon::testing
