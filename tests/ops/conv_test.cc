// Conv and its gradients. Listed values from PyTorch 2.15 in float64 unless a case says otherwise.
#include <gtest/gtest.h>

#include "tests/support/op_case.h"

namespace tenon::testing {
namespace {

using Ints = std::vector<std::int64_t>;

TEST(Conv, StridesPadsDilatesAndAddsBias) {
  CheckCase({.op = "Conv",
             .inputs = {Ramp({2, 3, 5, 4}, -1, 0.05), Ramp({4, 3, 3, 2}, 0.5, -0.02), Ramp({4}, 1)},
             .expect = {F32({2, 4, 3, 2},
                            {0.568,  0.754,   2.128,   2.425,   3.16,   3.37,    0.92,    0.89,    0.212,   0.185,
                             0.92,   0.914,   1.272,   1.026,   -1.704, -2.055,  -1.32,   -1.542,  1.624,   1.162,
                             -3.62,  -4.295,  -3.56,   -3.998,  11.728, 11.914,  19.948,  20.245,  15.76,   15.97,
                             -0.88,  -0.91,   -1.408,  -1.435,  0.56,   0.554,   -13.488, -13.734, -22.764, -23.115,
                             -14.64, -14.862, -26.096, -26.558, -44.12, -44.795, -29.84,  -30.278})},
             .attrs = {{"strides", Ints{2, 1}}, {"pads", Ints{1, 0, 1, 0}}, {"dilations", Ints{1, 2}}},
             .symbolic = false,
             .other_floats = false});
}

TEST(Conv, HasGroups) {
  CheckCase(
      {.op = "Conv",
       .inputs = {Ramp({1, 4, 5, 5}, 0, 0.1), Ramp({6, 2, 3, 3}, -0.5, 0.01)},
       .expect = {F32({1, 6, 3, 3},
                      {-4.416, -7.432, -5.512, -10.518, -17.097, -12.306, -9.888, -15.784, -11.176, -2.184, -3.76,
                       -2.848, -5.55,  -9.159, -6.69,   -5.496,  -8.872,  -6.352, 0.048,   -0.088,  -0.184, -0.582,
                       -1.221, -1.074, -1.104, -1.96,   -1.528,  8.08,    11.984, 7.88,    12.186,  17.967, 11.742,
                       7.888,  11.552, 7.496,  17.512,  26.456,  17.744,  27.954, 42.105,  28.158,  19.48,  29.264,
                       19.52,  26.944, 40.928, 27.608,  43.722,  66.243,  44.574, 31.072,  46.976,  31.544})},
       .attrs = {{"strides", Ints{2, 2}}, {"pads", Ints{1, 1, 1, 1}}, {"group", std::int64_t{2}}},
       .other_floats = false});
  // Depthwise.
  CheckCase({.op = "Conv",
             .inputs = {Ramp({1, 2, 3, 3}), Ramp({2, 1, 2, 2}, 1)},
             .expect = {F32({1, 2, 2, 2}, {27, 37, 57, 67, 293, 319, 371, 397})},
             .attrs = {{"group", std::int64_t{2}}}});
}

TEST(Conv, HasOneToThreeSpatialAxes) {
  CheckCase({.op = "Conv",
             .inputs = {Ramp({1, 2, 7}, -1, 0.5), Ramp({3, 2, 3}, 1, -0.1)},
             .expect = {F32({1, 3, 5}, {0.45, 3.85, 8.35, 12.85, 5.85, -0.45, -0.65, 0.25, 1.15, 1.35, -1.35, -5.15,
                                        -7.85, -10.55, -3.15})},
             .attrs = {{"strides", Ints{2}}, {"pads", Ints{2, 2}}, {"kernel_shape", Ints{3}}},
             .other_floats = false});
  CheckCase({.op = "Conv",
             .inputs = {Ramp({1, 1, 3, 3, 3}), Ramp({1, 1, 2, 2, 2}, 1)},
             .expect = {F32({1, 1, 2, 2, 2}, {320, 356, 428, 464, 644, 680, 752, 788})}});
}

// Field case G15: the odd element of padding goes to the end for UPPER, to the start for LOWER.
TEST(Conv, PadsAutomatically) {
  const Tensor x = F32({1, 1, 4}, {1, 2, 3, 4}), w = F32({1, 1, 2}, {1, 10});
  CheckCase({.op = "Conv",
             .inputs = {x, w},
             .expect = {F32({1, 1, 4}, {21, 32, 43, 4})},
             .attrs = {{"auto_pad", std::string("SAME_UPPER")}}});
  CheckCase({.op = "Conv",
             .inputs = {x, w},
             .expect = {F32({1, 1, 4}, {10, 21, 32, 43})},
             .attrs = {{"auto_pad", std::string("SAME_LOWER")}}});
  CheckCase({.op = "Conv",
             .inputs = {x, w},
             .expect = {F32({1, 1, 3}, {21, 32, 43})},
             .attrs = {{"auto_pad", std::string("VALID")}, {"pads", Ints{1, 1}}}});
  const auto strided = Outputs({.op = "Conv",
                                .inputs = {Ramp({1, 1, 7, 5}), Ramp({1, 1, 3, 3})},
                                .expect = {},
                                .attrs = {{"auto_pad", std::string("SAME_UPPER")}, {"strides", Ints{2, 2}}}});
  EXPECT_EQ(strided[0].shape().ToString(), "[1,1,4,3]");
  const auto dilated = Outputs({.op = "Conv",
                                .inputs = {Ramp({1, 1, 16, 16}), Ramp({1, 1, 3, 3})},
                                .expect = {},
                                .attrs = {{"auto_pad", std::string("SAME_UPPER")}, {"dilations", Ints{2, 2}}}});
  EXPECT_EQ(dilated[0].shape().ToString(), "[1,1,16,16]");
  CheckCase({.op = "Conv",
             .inputs = {Random({2, 2, 5, 4}), Random({2, 2, 3, 2}, -1, 1, 2)},
             .expect = {},
             .attrs = {{"auto_pad", std::string("SAME_LOWER")}, {"strides", Ints{2, 3}}}});
}

// Field case G16.
TEST(Conv, PadsAtTheEndOnly) {
  CheckCase({.op = "Conv",
             .inputs = {Ramp({1, 1, 4, 4}), Ramp({1, 1, 3, 3}, 1, 0)},
             .expect = {F32({1, 1, 2, 2}, {45, 39, 66, 50})},
             .attrs = {{"strides", Ints{2, 2}}, {"pads", Ints{0, 0, 1, 1}}}});
}

TEST(Conv, TakesAnEmptyBatchAndSymbols) {
  CheckCase({.op = "Conv",
             .inputs = {F32({0, 2, 4, 4}, {}), Ramp({3, 2, 3, 3}), Ramp({3})},
             .expect = {F32({0, 3, 2, 2}, {})}});
  CheckCase({.op = "Conv",
             .inputs = {Random({7, 2, 4, 4}), Random({3, 2, 3, 3})},
             .expect = {},
             .gradient = {-1},
             .symbolic = true});
  CheckCase({.op = "Conv",
             .inputs = {Random({7, 2, 4, 4}), Random({3, 2, 3, 3})},
             .expect = {},
             .attrs = {{"auto_pad", std::string("SAME_UPPER")}},
             .gradient = {-1},
             .symbolic = true});
}

TEST(Conv, GradientsAgreeWithPyTorch) {
  const Attributes attrs{{"kernel_shape", Ints{3, 3}}, {"strides", Ints{2, 2}}, {"pads", Ints{1, 1, 1, 1}}};
  const Tensor x = Ramp({1, 2, 4, 4}, 0, 0.1), w = Ramp({2, 2, 3, 3}, -0.5, 0.05), dy = Ramp({1, 2, 2, 2}, 1, 0.5);
  Attributes with_shape = attrs;
  with_shape.Set("x_shape", Ints{1, 2, 4, 4});
  CheckCase({.op = "ConvInputGrad",
             .inputs = {dy, w},
             .expect = {F32({1, 2, 4, 4},
                            {1.5, 3.1,  1.65, 1.9,  3,   6.2,  3.3, 3.9, 1.8, 3.7,  1.95, 2.3,  2.7, 5.65, 3,    3.35,
                             3.3, 7.15, 3.9,  4.15, 7.5, 16.1, 8.7, 9.3, 4.5, 9.55, 5.1,  5.45, 5.4, 11.5, 6.15, 6.5})},
             .attrs = with_shape,
             .domain = "tenon"});
  CheckCase({.op = "ConvWeightGrad",
             .inputs = {x, dy},
             .expect = {F32({2, 2, 3, 3}, {1.25, 2.3,  2.75, 2.4,  4.4,  5.1,   4,    7.2,  7.9,  5.25, 9.5,  9.95,
                                           8.8,  15.6, 16.3, 10.4, 18.4, 19.1,  2.25, 4.3,  5.15, 4.4,  8.4,  9.9,
                                           7.6,  14.4, 15.9, 9.45, 17.9, 18.75, 17.2, 32.4, 33.9, 20.4, 38.4, 39.9}),
                        F32({2}, {7, 15})},
             .attrs = attrs,
             .domain = "tenon"});
}

TEST(ConvTranspose, AgreesWithPyTorch) {
  CheckCase({.op = "ConvTranspose",
             .inputs = {Ramp({1, 2, 3}, 1), Ramp({2, 2, 2}, 1, 0.5), F32({2}, {1, -1})},
             .expect = {F32({1, 2, 5}, {16.5, 18, 21.5, 22, 26.5, 19.5, 23, 26.5, 29, 33.5})},
             .attrs = {{"strides", Ints{2}}, {"pads", Ints{1, 1}}, {"output_padding", Ints{1}}}});
  CheckCase({.op = "ConvTranspose",
             .inputs = {Ramp({1, 4, 2, 2}, 0, 0.5), Ramp({4, 1, 2, 3}, -1, 0.1)},
             .expect = {F32({1, 2, 4, 3}, {-0.6, -1.9, -1.2, -1.8, -4.3, -2.4, 0,   -0.4, -0.3, -0.6, -1.6, -0.9,
                                           6.6,  13.7, 7.2,  7.8,  16.1, 8.4,  9.6, 20,   10.5, 11.4, 23.6, 12.3})},
             .attrs = {{"strides", Ints{1, 2}},
                       {"pads", Ints{0, 1, 0, 1}},
                       {"dilations", Ints{2, 1}},
                       {"group", std::int64_t{2}}}});
}

// Field case G15 (d): the output is the input times the stride.
TEST(ConvTranspose, PadsAutomatically) {
  for (const char* pad : {"SAME_UPPER", "SAME_LOWER"}) {
    const OpCase row{.op = "ConvTranspose",
                     .inputs = {Random({1, 1, 5, 5}), Random({1, 1, 3, 3})},
                     .expect = {},
                     .attrs = {{"auto_pad", std::string(pad)}, {"strides", Ints{2, 2}}}};
    EXPECT_EQ(Outputs(row)[0].shape().ToString(), "[1,1,10,10]");
    CheckCase(row);
  }
  // A kernel shorter than the stride leaves zeros between its copies, by hand.
  CheckCase({.op = "ConvTranspose",
             .inputs = {F32({1, 1, 2}, {1, 2}), F32({1, 1, 1}, {3})},
             .expect = {F32({1, 1, 4}, {3, 0, 6, 0})},
             .attrs = {{"auto_pad", std::string("SAME_UPPER")}, {"strides", Ints{2}}}});
  CheckFails({.op = "ConvTranspose", .inputs = {Ramp({1, 3, 4}), Ramp({2, 1, 3})}, .expect = {}},
             "ConvTranspose X has 3 channels, but W [2,1,3] takes 2.");
}

TEST(Conv, NamesWhatIsWrong) {
  const Tensor x = Ramp({1, 3, 5, 5});
  CheckFails({.op = "Conv", .inputs = {x, Ramp({4, 2, 3, 3})}, .expect = {}},
             "Conv X has 3 channels, but W [4,2,3,3] with group 1 takes 2.");
  CheckFails({.op = "Conv", .inputs = {x, Ramp({4, 1, 3, 3})}, .expect = {}, .attrs = {{"group", std::int64_t{3}}}},
             "Conv has 4 output channels, which do not divide into 3 groups.");
  CheckFails({.op = "Conv", .inputs = {x, Ramp({4, 3, 3, 3}), Ramp({3})}, .expect = {}},
             "Conv B has shape [3]; W [4,3,3,3] needs [4].");
  CheckFails({.op = "Conv", .inputs = {x, Ramp({4, 3, 7, 7})}, .expect = {}, .attrs = {{"pads", Ints{0, 0, 1, 0}}}},
             "The kernel spans 7 elements of spatial axis 0, more than the padded input has (6 = 5 + 0 + 1).");
  CheckFails({.op = "Conv", .inputs = {x, Ramp({4, 3, 3, 3})}, .expect = {}, .attrs = {{"strides", Ints{0, 1}}}},
             "strides holds 0; the least value is 1.");
  CheckFails({.op = "Conv", .inputs = {x, Ramp({4, 3, 3, 3})}, .expect = {}, .attrs = {{"pads", Ints{1, 1}}}},
             "pads has 2 values ([1,1]); 4 are needed for this number of spatial axes.");
  CheckFails(
      {.op = "Conv", .inputs = {x, Ramp({4, 3, 3, 3})}, .expect = {}, .attrs = {{"auto_pad", std::string("SAME")}}},
      "auto_pad is 'SAME'; it can be NOTSET, VALID, SAME_UPPER or SAME_LOWER.");
  CheckFails({.op = "Conv", .inputs = {x, Ramp({4, 3, 3, 3})}, .expect = {}, .attrs = {{"stride", Ints{1, 1}}}},
             "Conv has no attribute 'stride'. Did you mean 'strides'?");
}

}  // namespace
}  // namespace tenon::testing
