// TopK. The first three cases are ONNX's test data (test_top_k*); ties and NaN from PyTorch 2.15.
#include <gtest/gtest.h>

#include <limits>

#include "tests/support/op_case.h"

namespace tenon::testing {
namespace {

const AttrValue kOne = std::int64_t{1}, kNo = std::int64_t{0};

TEST(TopK, ChoosesTheBest) {
  const Tensor x = Ramp({3, 4});
  CheckCase({.op = "TopK",
             .inputs = {x, I64({1}, {3})},
             .expect = {F32({3, 3}, {3, 2, 1, 7, 6, 5, 11, 10, 9}), I64({3, 3}, {3, 2, 1, 3, 2, 1, 3, 2, 1})},
             .attrs = {{"axis", kOne}},
             .symbolic = true});
  CheckCase({.op = "TopK",
             .inputs = {F32({3, 4}, {0, 1, 2, 3, 4, 5, 6, 7, 11, 10, 9, 8}), I64({1}, {3})},
             .expect = {F32({3, 3}, {0, 1, 2, 4, 5, 6, 8, 9, 10}), I64({3, 3}, {0, 1, 2, 0, 1, 2, 3, 2, 1})},
             .attrs = {{"axis", kOne}, {"largest", kNo}}});
  CheckCase({.op = "TopK",
             .inputs = {x, I64({1}, {2})},
             .expect = {F32({3, 2}, {3, 2, 7, 6, 11, 10}), I64({3, 2}, {3, 2, 3, 2, 3, 2})},
             .attrs = {{"sorted", kNo}}});
  CheckCase({.op = "TopK",
             .inputs = {x, I64({1}, {2})},
             .expect = {F32({2, 4}, {8, 9, 10, 11, 4, 5, 6, 7}), I64({2, 4}, {2, 2, 2, 2, 1, 1, 1, 1})},
             .attrs = {{"axis", kNo}}});
  CheckCase({.op = "TopK", .inputs = {I32({3}, {5, -1, 7}), I64({1}, {1})}, .expect = {I32({1}, {7}), I64({1}, {2})}});
  CheckCase({.op = "TopK",
             .inputs = {x},
             .expect = {F32({3, 1}, {3, 7, 11}), I64({3, 1}, {3, 3, 3})},
             .attrs = {{"k", kOne}},
             .version = 9});
}

TEST(TopK, TakesTiesNaNAndNothing) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CheckCase({.op = "TopK",
             .inputs = {F32({4}, {1, 3, 3, 1}), I64({1}, {3})},
             .expect = {F32({3}, {3, 3, 1}), I64({3}, {1, 2, 0})},
             .gradient = {-1}});
  CheckCase({.op = "TopK",
             .inputs = {F32({3}, {1, nan, 3}), I64({1}, {2})},
             .expect = {F32({2}, {nan, 3}), I64({2}, {1, 2})},
             .gradient = {-1}});
  CheckCase({.op = "TopK",
             .inputs = {F32({3}, {1, nan, 3}), I64({1}, {3})},
             .expect = {F32({3}, {1, 3, nan}), I64({3}, {0, 2, 1})},
             .attrs = {{"largest", kNo}},
             .gradient = {-1}});
  CheckCase({.op = "TopK", .inputs = {Ramp({3}), I64({1}, {0})}, .expect = {F32({0}, {}), I64({0}, {})}});
}

TEST(TopK, NamesWhatIsWrong) {
  CheckFails({.op = "TopK", .inputs = {Ramp({2, 3}), I64({1}, {4})}, .expect = {}, .outputs = 2},
             "TopK takes 4 elements of axis 1 of [2,3].");
}

}  // namespace
}  // namespace tenon::testing
