// GatherElements. The first three cases are ONNX's test data (test_gather_elements_*).
#include <gtest/gtest.h>

#include "tests/support/op_case.h"

namespace tenon::testing {
namespace {

TEST(GatherElements, TakesElements) {
  CheckCase({.op = "GatherElements",
             .inputs = {Ramp({2, 2}, 1), I64({2, 2}, {0, 0, 1, 0})},
             .expect = {F32({2, 2}, {1, 1, 4, 3})},
             .attrs = {{"axis", std::int64_t{1}}},
             .symbolic = true});
  CheckCase({.op = "GatherElements",
             .inputs = {Ramp({3, 3}, 1), I64({2, 3}, {1, 2, 0, 2, 0, 0})},
             .expect = {F32({2, 3}, {4, 8, 3, 7, 2, 3})}});
  CheckCase({.op = "GatherElements",
             .inputs = {Ramp({3, 3}, 1), I32({2, 3}, {-1, -2, 0, -2, 0, 0})},
             .expect = {F32({2, 3}, {7, 5, 3, 4, 2, 3})}});
  CheckCase({.op = "GatherElements",
             .inputs = {Bool({3}, {1, 0, 0}), I64({4}, {0, 1, 0, 2})},
             .expect = {Bool({4}, {1, 0, 1, 0})}});
  CheckCase({.op = "GatherElements", .inputs = {Ramp({2, 3}), I64({0, 3}, {})}, .expect = {F32({0, 3}, {})}});
}

TEST(GatherElements, AddsInItsGradientOperator) {
  CheckCase({.op = "GatherElementsGrad",
             .inputs = {F32({4}, {1, 2, 3, 4}), I64({4}, {0, -1, 0, 2})},
             .expect = {F32({3}, {4, 0, 6})},
             .attrs = {{"x_shape", std::vector<std::int64_t>{3}}},
             .domain = "tenon"});
}

TEST(GatherElements, NamesWhatIsWrong) {
  CheckFails({.op = "GatherElements", .inputs = {Ramp({2, 3}), I64({1, 3}, {0, 2, 1})}, .expect = {}},
             "GatherElements index 2 is outside [-2, 2), the limits of axis 0 of [2,3].");
  CheckFails({.op = "GatherElements", .inputs = {Ramp({2, 3}), I64({3}, {0, 1, 1})}, .expect = {}},
             "GatherElements indices have shape [3]; they need the rank of the data, [2,3].");
  CheckFails({.op = "GatherElements", .inputs = {Ramp({2, 3}), I64({1, 4}, {0, 1, 1, 0})}, .expect = {}},
             "GatherElements indices have shape [1,4]; along axis 1 the data [2,3] has fewer elements.");
}

}  // namespace
}  // namespace tenon::testing
