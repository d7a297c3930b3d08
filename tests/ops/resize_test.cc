// Resize. Listed values from PyTorch 2.15 (interpolate) in float64, from field case G18, or by hand from ONNX's formulas.
#include <gtest/gtest.h>

#include "tests/support/op_case.h"

namespace tenon::testing {
namespace {

using Ints = std::vector<std::int64_t>;

Attributes Settings(const char* mode, const char* coordinates, const char* rounding = "round_prefer_floor") {
  return {{"mode", std::string(mode)},
          {"coordinate_transformation_mode", std::string(coordinates)},
          {"nearest_mode", std::string(rounding)}};
}

OpCase Sized(const Tensor& x, Ints sizes, const Tensor& expected, Attributes attrs) {
  return {.op = "Resize",
          .inputs = {x, Tensor(), Tensor(), I64({static_cast<std::int64_t>(sizes.size())}, sizes)},
          .expect = {expected},
          .attrs = std::move(attrs)};
}

OpCase Scaled(const Tensor& x, const std::vector<double>& scales, const Tensor& expected, Attributes attrs) {
  return {.op = "Resize",
          .inputs = {x, Tensor(), F32({static_cast<std::int64_t>(scales.size())}, scales)},
          .expect = {expected},
          .attrs = std::move(attrs),
          .gradient = {0},
          .other_floats = false};
}

// Field case G18: element 4 of width 20 to 6 lies exactly between sources 14 and 15.
TEST(Resize, RoundsHalfwayAsTheModeSays) {
  const Tensor x = Ramp({20});
  const struct {
    const char* mode;
    Tensor expected;
  } rows[] = {{"round_prefer_floor", F32({6}, {1, 4, 8, 11, 14, 18})},
              {"round_prefer_ceil", F32({6}, {1, 5, 8, 11, 15, 18})},
              {"floor", F32({6}, {1, 4, 7, 11, 14, 17})},
              {"ceil", F32({6}, {2, 5, 8, 12, 15, 18})}};
  for (const auto& row : rows) {
    CheckCase(Sized(x, {6}, row.expected, Settings("nearest", "half_pixel", row.mode)));
    CheckCase(Scaled(x, {6.0 / 20}, row.expected, Settings("nearest", "half_pixel", row.mode)));
  }
}

TEST(Resize, LinearUnderEveryCoordinateMode) {
  const Tensor x = Ramp({4});
  CheckCase(Sized(x, {2}, F32({2}, {0, 3}), Settings("linear", "align_corners")));
  CheckCase(Sized(x, {2}, F32({2}, {0, 2}), Settings("linear", "asymmetric")));
  CheckCase(Sized(x, {2}, F32({2}, {0.5, 2.5}), Settings("linear", "half_pixel")));
  CheckCase(Sized(x, {2}, F32({2}, {0.5, 2.5}), Settings("linear", "pytorch_half_pixel")));
  CheckCase(Sized(x, {2}, F32({2}, {0.5, 2.5}), Settings("linear", "half_pixel_symmetric")));
  for (const char* mode : {"align_corners", "pytorch_half_pixel"}) {
    CheckCase(Sized(Ramp({4}, 7), {1}, F32({1}, {7}), Settings("linear", mode)));
    CheckCase(Sized(Ramp({4}, 7), {1}, F32({1}, {7}), Settings("nearest", mode)));
  }
  CheckCase(Sized(x, {1}, F32({1}, {1.5}), Settings("linear", "half_pixel")));
}

TEST(Resize, AgreesWithPyTorchInTwoDimensions) {
  const Tensor x = Ramp({1, 1, 2, 3}, 1);
  CheckCase(Sized(x, {1, 1, 4, 5}, F32({1, 1, 4, 5}, {1,    1.4,  2,    2.6,  3,    1.75, 2.15, 2.75, 3.35, 3.75,
                                                      3.25, 3.65, 4.25, 4.85, 5.25, 4,    4.4,  5,    5.6,  6}),
                  Settings("linear", "half_pixel")));
  CheckCase(Sized(x, {1, 1, 4, 5},
                  F32({1, 1, 4, 5}, {1, 1.5, 2, 2.5, 3, 2, 2.5, 3, 3.5, 4, 3, 3.5, 4, 4.5, 5, 4, 4.5, 5, 5.5, 6}),
                  Settings("linear", "align_corners")));
  CheckCase(Sized(Ramp({1, 1, 4, 4}), {1, 1, 3, 2},
                  F32({1, 1, 3, 2}, {1.166667, 3.166667, 6.5, 8.5, 11.83333, 13.83333}),
                  Settings("linear", "half_pixel")));
  // PyTorch's "nearest" is asymmetric with floor, its "nearest-exact" half_pixel.
  CheckCase(Sized(Ramp({1, 1, 5}), {1, 1, 8}, F32({1, 1, 8}, {0, 0, 1, 1, 2, 3, 3, 4}),
                  Settings("nearest", "asymmetric", "floor")));
  CheckCase(
      Sized(Ramp({1, 1, 5}), {1, 1, 8}, F32({1, 1, 8}, {0, 0, 1, 2, 2, 3, 4, 4}), Settings("nearest", "half_pixel")));
}

TEST(Resize, TakesScalesAxesAndOldOpsets) {
  CheckCase(Scaled(Ramp({1, 2}, 1), {1, 2}, F32({1, 4}, {1, 1.25, 1.75, 2}), Settings("linear", "half_pixel")));
  Attributes attrs = Settings("nearest", "asymmetric", "floor");
  attrs.Set("axes", Ints{-1});
  CheckCase(Sized(Ramp({2, 2}), {4}, F32({2, 4}, {0, 0, 1, 1, 2, 2, 3, 3}), attrs));
  CheckCase({.op = "Resize",
             .inputs = {Ramp({2}), F32({1}, {2})},
             .expect = {F32({4}, {0, 0, 1, 1})},
             .version = 10,
             .gradient = {0},
             .other_floats = false});
  CheckCase({.op = "Resize",
             .inputs = {Ramp({2}), F32({1}, {2})},
             .expect = {F32({4}, {0, 0.5, 1, 1})},
             .attrs = {{"mode", std::string("linear")}},
             .version = 10,
             .gradient = {0},
             .other_floats = false});
  CheckCase(Sized(I64({2}, {5, 6}), {4}, I64({4}, {5, 5, 6, 6}), Settings("nearest", "half_pixel")));
  CheckCase(Sized(F32({0, 2}, {}), {0, 4}, F32({0, 4}, {}), Settings("linear", "half_pixel")));
  const auto floored = Outputs(Scaled(Ramp({10}), {0.7}, Tensor(), Settings("nearest", "half_pixel")));
  EXPECT_EQ(floored[0].shape().ToString(), "[7]");
}

TEST(Resize, RefusesByName) {
  const Tensor x = Ramp({4});
  CheckFails(Sized(x, {2}, Tensor(), Settings("cubic", "half_pixel")),
             "Resize mode 'cubic' is not supported; supported are nearest and linear.");
  CheckFails(Sized(x, {2}, Tensor(), Settings("linear", "tf_crop_and_resize")),
             "Resize coordinate_transformation_mode 'tf_crop_and_resize' is not supported; supported are half_pixel, "
             "half_pixel_symmetric, pytorch_half_pixel, align_corners and asymmetric.");
  CheckFails(Sized(x, {2}, Tensor(), {{"antialias", std::int64_t{1}}}), "Resize with antialias is not supported.");
  CheckFails(Sized(I64({2}, {5, 6}), {4}, Tensor(), Settings("linear", "half_pixel")),
             "Resize mode linear takes floating dtypes; X is int64.");
  CheckFails(Sized(F32({0}, {}), {4}, Tensor(), {}), "Resize of axis 0 from 0 elements to 4.");
  CheckFails({.op = "Resize", .inputs = {x}, .expect = {}}, "Resize takes either scales or sizes; none is given.");
  CheckFails(Sized(x, {2, 2}, Tensor(), {}), "Resize has 2 sizes for 1 axes of an input of shape [4].");
}

}  // namespace
}  // namespace tenon::testing
