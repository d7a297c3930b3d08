// OneHot. The cases are ONNX's test data (test_onehot_*) and its operator definition.
#include <gtest/gtest.h>

#include "tests/support/op_case.h"

namespace tenon::testing {
namespace {

TEST(OneHot, MarksTheIndex) {
  const Tensor values = F32({2}, {1, 3});  // off, on
  CheckCase({.op = "OneHot",
             .inputs = {I64({3}, {0, 7, 8}), I64({}, {12}), I32({2}, {2, 5})},
             .expect = {I32({3, 12}, {5, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2,
                                      2, 5, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 5, 2, 2, 2})},
             .symbolic = true});
  CheckCase({.op = "OneHot",
             .inputs = {I64({2, 2}, {1, 2, 2, 0}), I64({1}, {3}), values},
             .expect = {F32({2, 3, 2}, {1, 1, 3, 1, 1, 3, 1, 3, 1, 1, 3, 1})},
             .attrs = {{"axis", std::int64_t{1}}}});
  CheckCase({.op = "OneHot",
             .inputs = {I64({3}, {0, -2, -1}), I64({}, {3}), values},
             .expect = {F32({3, 3}, {3, 1, 1, 1, 3, 1, 1, 1, 3})}});
  CheckCase({.op = "OneHot",
             .inputs = {F32({2}, {1, 0}), F32({}, {2}), Bool({2}, {0, 1})},
             .expect = {Bool({2, 2}, {0, 1, 1, 0})},
             .gradient = {-1},
             .other_floats = false});
  CheckCase({.op = "OneHot",
             .inputs = {I64({2}, {1, 0}), I64({}, {2}), values},
             .expect = {F32({2, 2}, {1, 3, 3, 1})},
             .attrs = {{"axis", std::int64_t{0}}}});
}

// The definition: an index outside [-depth, depth) is off everywhere.
TEST(OneHot, OutsideIsOff) {
  CheckCase({.op = "OneHot",
             .inputs = {I64({2}, {3, -4}), I64({}, {3}), F32({2}, {0, 1})},
             .expect = {F32({2, 3}, {0, 0, 0, 0, 0, 0})}});
  CheckCase({.op = "OneHot", .inputs = {I64({0}, {}), I64({}, {3}), F32({2}, {0, 1})}, .expect = {F32({0, 3}, {})}});
  CheckCase(
      {.op = "OneHot", .inputs = {I64({2}, {0, 1}), I64({}, {0}), F32({2}, {0, 1})}, .expect = {F32({2, 0}, {})}});
}

TEST(OneHot, NamesWhatIsWrong) {
  CheckFails({.op = "OneHot", .inputs = {I64({2}, {0, 1}), I64({}, {2}), F32({3}, {0, 1, 2})}, .expect = {}},
             "OneHot needs two values, [off, on]; they have shape [3].");
  CheckFails({.op = "OneHot", .inputs = {I64({2}, {0, 1}), I64({}, {-1}), F32({2}, {0, 1})}, .expect = {}},
             "OneHot has a negative depth (-1).");
}

}  // namespace
}  // namespace tenon::testing
