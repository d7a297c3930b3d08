// Slice and Pad. Listed values by hand from the definitions (ONNX's clamping), reflection from PyTorch 2.15.
#include <gtest/gtest.h>

#include <limits>

#include "tests/support/op_case.h"

namespace tenon::testing {
namespace {

using Ints = std::vector<std::int64_t>;
constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

OpCase Sliced(std::int64_t start, std::int64_t end, std::int64_t step, const std::vector<double>& expected) {
  return {.op = "Slice",
          .inputs = {Ramp({10}), I64({1}, {start}), I64({1}, {end}), I64({1}, {0}), I64({1}, {step})},
          .expect = {F32({static_cast<std::int64_t>(expected.size())}, expected)},
          .symbolic = true};
}

// Field case G23.
TEST(Slice, ClampsItsBounds) {
  CheckCase(Sliced(9, 0, -1, {9, 8, 7, 6, 5, 4, 3, 2, 1}));
  CheckCase(Sliced(-1, kLeast, -1, {9, 8, 7, 6, 5, 4, 3, 2, 1, 0}));
  CheckCase(Sliced(2, kMost, 1, {2, 3, 4, 5, 6, 7, 8, 9}));
  CheckCase(Sliced(0, kMost, 1, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
  CheckCase(Sliced(0, 10, 1000000000, {0}));
  CheckCase(Sliced(3, kMost, kMost, {3}));
  CheckCase(Sliced(kMost, kLeast, kLeast, {9}));
  CheckCase(Sliced(1, 8, 3, {1, 4, 7}));
  CheckCase(Sliced(-3, -1, 1, {7, 8}));
  CheckCase(Sliced(8, 2, -2, {8, 6, 4}));
  CheckCase(Sliced(5, 5, 1, {}));
  CheckCase(Sliced(7, 3, 1, {}));
  CheckCase(Sliced(-100, 2, 1, {0, 1}));
  CheckCase(Sliced(-100, -200, -1, {0}));  // ONNX clamps the start of a backward slice to 0
  CheckCase(Sliced(20, 30, 1, {}));
}

TEST(Slice, TakesSeveralAxes) {
  const Tensor x = Ramp({3, 4});
  CheckCase({.op = "Slice", .inputs = {x, I64({2}, {1, 0}), I64({2}, {3, 2})}, .expect = {F32({2, 2}, {4, 5, 8, 9})}});
  CheckCase({.op = "Slice",
             .inputs = {x, I32({1}, {-1}), I32({1}, {-4}), I32({1}, {-1}), I32({1}, {-1})},
             .expect = {F32({3, 3}, {3, 2, 1, 7, 6, 5, 11, 10, 9})}});
  CheckCase({.op = "Slice",
             .inputs = {x},
             .expect = {F32({3, 1}, {2, 6, 10})},
             .attrs = {{"starts", Ints{2}}, {"ends", Ints{3}}, {"axes", Ints{-1}}},
             .version = 9});
  CheckCase({.op = "Slice", .inputs = {F32({0, 4}, {}), I64({1}, {0}), I64({1}, {5})}, .expect = {F32({0, 4}, {})}});
  CheckCase({.op = "Slice",
             .inputs = {F32({0}, {}), I64({1}, {-1}), I64({1}, {kLeast}), I64({1}, {0}), I64({1}, {-1})},
             .expect = {F32({0}, {})}});
  CheckCase({.op = "SliceGrad",
             .inputs = {F32({2}, {5, 6}), I64({1}, {3}), I64({1}, {0}), I64({1}, {0}), I64({1}, {-2})},
             .expect = {F32({4}, {0, 6, 0, 5})},
             .attrs = {{"x_shape", Ints{4}}},
             .domain = "tenon"});
}

TEST(Slice, NamesWhatIsWrong) {
  const Tensor x = Ramp({3, 4});
  CheckFails({.op = "Slice", .inputs = {x, I64({1}, {0}), I64({1}, {1}), I64({1}, {0}), I64({1}, {0})}, .expect = {}},
             "Slice has step 0 along axis 0.");
  CheckFails({.op = "Slice", .inputs = {x, I64({2}, {0, 0}), I64({2}, {1, 1}), I64({2}, {1, -1})}, .expect = {}},
             "Slice lists axis -1 twice.");
  CheckFails({.op = "Slice", .inputs = {x, I64({2}, {0, 0}), I64({1}, {1})}, .expect = {}},
             "Slice has 2 starts, 1 ends, 2 axes and 2 steps; they must be equally many.");
}

TEST(Pad, FillsReflectsAndRepeats) {
  const Tensor x = Ramp({3, 4});
  CheckCase({.op = "Pad",
             .inputs = {Ramp({2, 2}, 1), I64({4}, {0, 1, 1, 0})},
             .expect = {F32({3, 3}, {0, 1, 2, 0, 3, 4, 0, 0, 0})}});
  CheckCase({.op = "Pad",
             .inputs = {Ramp({2}, 1), I64({2}, {1, 2}), F32({}, {9})},
             .expect = {F32({5}, {9, 1, 2, 9, 9})},
             .gradient = {0}});
  CheckCase({.op = "Pad",
             .inputs = {x, I64({4}, {1, 2, 2, 1})},
             .expect = {F32({6, 7}, {6,  5, 4, 5, 6,  7,  6,  2, 1, 0, 1, 2, 3, 2, 6, 5, 4, 5, 6, 7, 6,
                                     10, 9, 8, 9, 10, 11, 10, 6, 5, 4, 5, 6, 7, 6, 2, 1, 0, 1, 2, 3, 2})},
             .attrs = {{"mode", std::string("reflect")}}});
  CheckCase({.op = "Pad",
             .inputs = {Ramp({3}), I64({2}, {2, 1})},
             .expect = {F32({6}, {0, 0, 0, 1, 2, 2})},
             .attrs = {{"mode", std::string("edge")}}});
  CheckCase({.op = "Pad",
             .inputs = {Ramp({2, 2}, 1), I64({2}, {1, 0}), Tensor(), I64({1}, {-1})},
             .expect = {F32({2, 3}, {0, 1, 2, 0, 3, 4})}});
  CheckCase({.op = "Pad",
             .inputs = {Ramp({2}, 1)},
             .expect = {F32({4}, {7, 1, 2, 7})},
             .attrs = {{"pads", Ints{1, 1}}, {"value", 7.0}},
             .version = 2});
  CheckCase({.op = "Pad", .inputs = {I64({2}, {1, 2}), I64({2}, {0, 1})}, .expect = {I64({3}, {1, 2, 0})}});
}

// Field case G16: negative pads remove elements.
TEST(Pad, RemovesWithNegativePads) {
  const Tensor x = Ramp({3, 4});
  CheckCase({.op = "Pad", .inputs = {x, I64({4}, {-1, 0, 0, -2})}, .expect = {F32({2, 2}, {4, 5, 8, 9})}});
  CheckCase({.op = "Pad",
             .inputs = {x, I64({4}, {0, -1, 0, 2})},
             .expect = {F32({3, 5}, {1, 2, 3, 0, 0, 5, 6, 7, 0, 0, 9, 10, 11, 0, 0})}});
  CheckCase({.op = "Pad",
             .inputs = {x, I64({4}, {0, -1, 0, 1})},
             .expect = {F32({3, 4}, {1, 2, 3, 2, 5, 6, 7, 6, 9, 10, 11, 10})},
             .attrs = {{"mode", std::string("reflect")}}});
  CheckCase({.op = "Pad", .inputs = {x, I64({4}, {-3, 0, 0, 0})}, .expect = {F32({0, 4}, {})}});
  CheckFails({.op = "Pad", .inputs = {x, I64({4}, {-2, 0, -2, 0})}, .expect = {}},
             "Pad removes more of axis 0 than [3,4] has: 3 + -2 + -2 is -1.");
}

TEST(Pad, NamesWhatIsWrong) {
  CheckFails(
      {.op = "Pad", .inputs = {Ramp({2}), I64({2}, {1, 1})}, .expect = {}, .attrs = {{"mode", std::string("wrap")}}},
      "Pad mode 'wrap' is not supported; supported are constant, reflect and edge.");
  CheckFails(
      {.op = "Pad", .inputs = {F32({0}, {}), I64({2}, {1, 1})}, .expect = {}, .attrs = {{"mode", std::string("edge")}}},
      "Pad mode edge needs elements to repeat; axis 0 of [0] has none.");
  CheckFails({.op = "Pad", .inputs = {Ramp({2}), I64({4}, {1, 1, 1, 1})}, .expect = {}},
             "Pad has 4 pads ([1,1,1,1]); 2 are needed for 1 axes.");
}

}  // namespace
}  // namespace tenon::testing
