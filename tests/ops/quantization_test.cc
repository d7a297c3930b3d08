// Quantised operators. Expected values: the examples of ONNX's operator definitions; those of larger cases come from NumPy by
// the formulas of the definitions (tests/ops/peer/quantization.py).
#include <gtest/gtest.h>

#include "tests/support/op_case.h"

namespace tenon::testing {
namespace {

using Numbers = std::vector<std::int64_t>;

Tensor U8(const Shape& shape, const Numbers& values) { return Of(DType::kU8, shape, values); }
Tensor I8(const Shape& shape, const Numbers& values) { return Of(DType::kI8, shape, values); }

// As codes() of quantization.py.
Tensor Codes(DType dtype, const Shape& shape, std::int64_t low, std::int64_t high, std::int64_t a, std::int64_t b) {
  Numbers values;
  for (std::int64_t i = 0; i < shape.elements(); ++i) values.push_back(low + (a * i * i + b * i) % (high - low + 1));
  return Of(dtype, shape, values);
}

TEST(QuantizeLinear, Examples) {
  CheckCase({.op = "QuantizeLinear",
             .inputs = {F32({6}, {0, 2, 3, 1000, -254, -1000}), F32({}, {2}), U8({}, {128})},
             .expect = {U8({6}, {128, 129, 130, 255, 1, 0})},
             .symbolic = true,
             .other_floats = false});
  CheckCase({.op = "QuantizeLinear",
             .inputs = {F32({1, 3, 3, 2}, {-162, 10, -100, 232, -20, -50, -76, 0, 0, 252, 32, -44, 245, -485, -960,
                                           -270, -375, -470}),
                        F32({3}, {2, 4, 5}), U8({3}, {84, 24, 196})},
             .expect = {U8({1, 3, 3, 2}, {3, 89, 34, 200, 74, 59, 5, 24, 24, 87, 32, 13, 245, 99, 4, 142, 121, 102})},
             .other_floats = false});
}

TEST(QuantizeLinear, RoundsHalvesToEvenAndSaturates) {
  CheckCase(
      {.op = "QuantizeLinear",
       .inputs = {F32({2, 3}, {-1.25, 0.5, 7.5, 2.5, -0.75, -300}), F32({3}, {0.5, 0.25, 2}), I8({3}, {1, -2, 3})},
       .expect = {I8({2, 3}, {-1, 0, 7, 6, -5, -128})},
       .attrs = {{"axis", std::int64_t{-1}}},
       .other_floats = false});
  CheckCase({.op = "QuantizeLinear",
             .inputs = {F32({5}, {0.5, 1.5, 2.5, -0.5, 1e9}), F32({1}, {1})},
             .expect = {U8({5}, {0, 2, 2, 0, 255})},
             .other_floats = false});
  CheckCase({.op = "QuantizeLinear",
             .inputs = {F32({3}, {-40000, 3, 40000}), F32({}, {1})},
             .expect = {Of(DType::kI16, {3}, {-32768, 3, 32767})},
             .attrs = {{"output_dtype", std::int64_t{5}}},
             .other_floats = false});
}

TEST(QuantizeLinear, NamesWhatIsWrong) {
  CheckFails({.op = "QuantizeLinear", .inputs = {Ramp({2, 3}), F32({2}, {1, 1})}, .expect = {}},
             "QuantizeLinear y_scale has shape [2]; it is one number, or one for each of the 3 slices.");
  CheckFails({.op = "QuantizeLinear", .inputs = {Ramp({2, 3}), F32({}, {1}), U8({3}, {1, 2, 3})}, .expect = {}},
             "QuantizeLinear y_zero_point has shape [3]; y_scale has [].");
  CheckFails({.op = "QuantizeLinear",
              .inputs = {Ramp({2, 3}), F32({}, {1})},
              .expect = {},
              .attrs = {{"block_size", std::int64_t{2}}}},
             "QuantizeLinear has block_size 2; blocks are not supported.");
}

TEST(DequantizeLinear, Examples) {
  CheckCase({.op = "DequantizeLinear",
             .inputs = {U8({4}, {0, 3, 128, 255}), F32({}, {2}), U8({}, {128})},
             .expect = {F32({4}, {-256, -250, 0, 254})},
             .symbolic = true,
             .other_floats = false});
  CheckCase({.op = "DequantizeLinear",
             .inputs = {U8({1, 3, 3, 2}, {3, 89, 34, 200, 74, 59, 5, 24, 24, 87, 32, 13, 245, 99, 4, 142, 121, 102}),
                        F32({3}, {2, 4, 5}), U8({3}, {84, 24, 196})},
             .expect = {F32({1, 3, 3, 2}, {-162, 10, -100, 232, -20, -50, -76, 0, 0, 252, 32, -44, 245, -485, -960,
                                           -270, -375, -470})},
             .other_floats = false});
  CheckCase({.op = "DequantizeLinear",
             .inputs = {I32({3}, {-70000, 0, 9}), F32({}, {0.5})},
             .expect = {F32({3}, {-35000, 0, 4.5})},
             .other_floats = false});
}

TEST(MatMulInteger, Example) {
  CheckCase({.op = "MatMulInteger",
             .inputs = {U8({4, 3}, {11, 7, 3, 10, 6, 2, 9, 5, 1, 8, 4, 0}), U8({3, 2}, {1, 4, 2, 5, 3, 6}),
                        U8({}, {12}), U8({}, {0})},
             .expect = {I32({4, 2}, {-38, -83, -44, -98, -50, -113, -56, -128})},
             .symbolic = true});
  CheckCase(
      {.op = "MatMulInteger", .inputs = {I8({2}, {-128, 127}), U8({2}, {255, 255})}, .expect = {I32({}, {-255})}});
}

TEST(MatMulInteger, ZeroPointsByRowAndColumn) {
  const Tensor a = Codes(DType::kI8, {3, 5}, -128, 127, 7, 31), b = Codes(DType::kU8, {5, 4}, 0, 255, 11, 53);
  CheckCase({.op = "MatMulInteger",
             .inputs = {a, b, I8({3}, {-3, 5, 0}), U8({4}, {120, 128, 0, 255})},
             .expect = {I32({3, 4},
                            {11688, 34128, -18646, 28693, 13880, 2032, -11890, 25543, -12296, -31592, -3580, -8666})}});
}

TEST(MatMulInteger, NamesWhatIsWrong) {
  CheckFails({.op = "MatMulInteger", .inputs = {U8({2, 1}, {1, 2}), U8({1, 1}, {3}), U8({3}, {0, 0, 0})}, .expect = {}},
             "MatMulInteger a_zero_point has shape [3]; it is one number, or one for each of the 2 slices.");
}

TEST(QLinearMatMul, Example) {
  CheckCase({.op = "QLinearMatMul",
             .inputs = {U8({2, 4}, {208, 236, 0, 238, 3, 214, 255, 29}), F32({}, {0.0066}), U8({}, {113}),
                        U8({4, 3}, {152, 51, 244, 60, 26, 255, 0, 127, 246, 127, 254, 247}), F32({}, {0.00705}),
                        U8({}, {114}), F32({}, {0.0107}), U8({}, {118})},
             .expect = {U8({2, 3}, {168, 115, 255, 1, 66, 151})},
             .other_floats = false});
}

TEST(QLinearMatMul, ScalesByRowAndColumn) {
  const Tensor a = Codes(DType::kI8, {3, 5}, -128, 127, 7, 31), b = Codes(DType::kU8, {5, 4}, 0, 255, 11, 53);
  CheckCase(
      {.op = "QLinearMatMul",
       .inputs = {a, F32({3}, {0.02, 0.005, 0.01}), I8({3}, {-3, 5, 0}), b, F32({4}, {0.004, 0.008, 0.002, 0.001}),
                  U8({4}, {120, 128, 0, 255}), F32({}, {0.05}), I8({}, {-7})},
       .expect = {I8({3, 4}, {12, 102, -22, 4, -1, -5, -9, -4, -17, -58, -8, -9})},
       .other_floats = false});
}

TEST(ConvInteger, Examples) {
  const Tensor x = U8({1, 1, 3, 3}, {2, 3, 4, 5, 6, 7, 8, 9, 10}), w = U8({1, 1, 2, 2}, {1, 1, 1, 1});
  CheckCase({.op = "ConvInteger", .inputs = {x, w, U8({}, {1})}, .expect = {I32({1, 1, 2, 2}, {12, 16, 24, 28})}});
  CheckCase({.op = "ConvInteger",
             .inputs = {x, w, U8({}, {1})},
             .expect = {I32({1, 1, 4, 4}, {1, 3, 5, 3, 5, 12, 16, 9, 11, 24, 28, 15, 7, 15, 17, 9})},
             .attrs = {{"pads", Numbers{1, 1, 1, 1}}}});
}

const Attributes kTwoGroups = {{"group", std::int64_t{2}}, {"strides", Numbers{2, 2}}, {"pads", Numbers{1, 1, 1, 1}}};
Tensor Images() { return Codes(DType::kU8, {2, 4, 5, 6}, 0, 255, 13, 47); }
Tensor Filters() { return Codes(DType::kI8, {6, 2, 3, 3}, -128, 127, 5, 17); }
Tensor FilterZeros() { return I8({6}, {0, 3, -4, 10, 0, -128}); }

TEST(ConvInteger, GroupsStepsPadsAndZeroPointsByChannel) {
  CheckCase(
      {.op = "ConvInteger",
       .inputs = {Images(), Filters(), U8({}, {100}), FilterZeros()},
       .expect = {I32({2, 6, 3, 3},
                      {2392,   -17900, -22240, 5648,   -50712, -44588, -36792, -30528, -244,   4888,  36948,  27240,
                       8216,   -9014,  22402,  -20280, -5208,  -23684, 13656,  6356,   -8288,  5472,  2504,   -14812,
                       -23800, -19712, -14900, -26824, -26772, 10328,  2112,   25224,  22156,  -1176, -24328, -12988,
                       14072,  3916,   14392,  -18360, -18064, -10116, 7176,   9848,   10916,  30520, 21004,  33352,
                       848,    66028,  -51672, 3816,   21416,  19780,  15896,  27204,  -3184,  11008, -53352, -34876,
                       -11448, 5744,   15356,  -9384,  -11868, -13192, 5512,   -30230, -19550, 1096,  -9352,  -8180,
                       -3816,  -16380, -43760, 4048,   -46280, -38700, 8456,   10928,  -6980,  40312, -28132, -5304,
                       -8208,  16280,  1628,   -3608,  7592,   5940,   -24392, 22012,  10024,  38328, 10912,  -10772,
                       28680,  48808,  3604,   25720,  10748,  4472,   39936,  46172,  57048,  24680, 87960,  76660})},
       .attrs = kTwoGroups});
}

TEST(QLinearConv, Example) {
  const Numbers x = {255, 174, 162, 25,  203, 168, 58,  15,  59,  237, 95,  129, 0,  64,  56, 242, 153,
                     221, 168, 12,  166, 232, 178, 186, 195, 237, 162, 237, 188, 39, 124, 77, 80,  102,
                     43,  127, 230, 21,  83,  41,  40,  134, 255, 154, 92,  141, 42, 148, 247};
  Numbers y;
  for (const std::int64_t value : x) y.push_back(255 - value);
  CheckCase({.op = "QLinearConv",
             .inputs = {U8({1, 1, 7, 7}, x), F32({}, {0.00369204697}), U8({}, {132}), U8({1, 1, 1, 1}, {0}),
                        F32({1}, {0.00172794575}), U8({1}, {255}), F32({}, {0.00162681262}), U8({}, {123})},
             .expect = {U8({1, 1, 7, 7}, y)},
             .other_floats = false});
}

TEST(QLinearConv, GroupsStepsPadsBiasAndScalesByChannel) {
  CheckCase({.op = "QLinearConv",
             .inputs = {Images(), F32({}, {0.03}), U8({}, {100}), Filters(),
                        F32({6}, {0.01, 0.02, 0.005, 0.004, 0.03, 0.001}), FilterZeros(), F32({}, {0.4}), U8({}, {128}),
                        I32({6}, {100, -2000, 30000, 0, 5, -70000})},
             .expect = {U8({2, 6, 3, 3},
                           {130, 115, 111, 132, 90,  95,  100, 105, 128, 132, 180, 166, 137, 111, 159, 95,  117, 89,
                            144, 142, 136, 141, 140, 134, 130, 132, 134, 120, 120, 131, 129, 136, 135, 128, 121, 124,
                            160, 137, 160, 87,  87,  105, 144, 150, 153, 125, 124, 125, 123, 128, 119, 123, 124, 124,
                            140, 148, 126, 136, 88,  102, 119, 132, 140, 111, 107, 105, 133, 80,  96,  127, 111, 113,
                            138, 133, 123, 141, 122, 125, 142, 143, 137, 140, 120, 126, 126, 133, 128, 127, 130, 130,
                            73,  178, 151, 214, 153, 104, 193, 238, 136, 125, 124, 123, 126, 126, 127, 125, 129, 128})},
             .attrs = kTwoGroups,
             .other_floats = false});
}

TEST(QLinearConv, NamesWhatIsWrong) {
  CheckFails({.op = "QLinearConv",
              .inputs = {U8({1, 1, 2, 2}, {1, 2, 3, 4}), F32({}, {1}), U8({}, {0}), U8({1, 1, 1, 1}, {1}),
                         F32({2}, {1, 1}), U8({}, {0}), F32({}, {1}), U8({}, {0})},
              .expect = {}},
             "QLinearConv w_scale has shape [2]; it is one number, or one for each of the 1 slices.");
}

}  // namespace
}  // namespace tenon::testing
