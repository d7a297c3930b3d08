// Pooling. Listed values from PyTorch 2.15 in float64 unless a case says otherwise.
#include <gtest/gtest.h>

#include <limits>

#include "tests/support/op_case.h"

namespace tenon::testing {
namespace {

using Ints = std::vector<std::int64_t>;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// i * cos(i)
const Tensor& Wave() {
  static const Tensor wave = F32(
      {1, 1, 5, 5}, {0,         0.5403023, -0.8322937, -2.969977, -2.614574, 1.418311,  5.761022,  5.277316,  -1.164,
                     -8.200172, -8.390715, 0.04868268, 10.12625,  11.79681,  1.914321,  -11.39532, -15.32255, -4.677777,
                     11.8857,   18.78539,  8.161641,   -11.50231, -21.99914, -12.25516, 10.1803});
  return wave;
}

Attributes Pool(std::int64_t kernel, std::int64_t stride, std::int64_t pad) {
  return {
      {"kernel_shape", Ints{kernel, kernel}}, {"strides", Ints{stride, stride}}, {"pads", Ints{pad, pad, pad, pad}}};
}
Attributes With(Attributes attrs, const char* name, AttrValue value) {
  attrs.Set(name, std::move(value));
  return attrs;
}

TEST(MaxPool, FindsValuesAndIndices) {
  CheckCase({.op = "MaxPool",
             .inputs = {Wave()},
             .expect = {F32({1, 1, 3, 3},
                            {5.761022, 5.761022, -1.164, 5.761022, 11.8857, 18.78539, 8.161641, 11.8857, 18.78539}),
                        I64({1, 1, 3, 3}, {6, 6, 8, 6, 18, 19, 20, 18, 19})},
             .attrs = Pool(3, 2, 1)});
  CheckCase({.op = "MaxPool",
             .inputs = {Wave()},
             .expect = {F32({1, 1, 3, 3}, {5.761022, 5.277316, -2.614574, 0.04868268, 11.8857, 18.78539, 8.161641,
                                           -12.25516, 10.1803}),
                        I64({1, 1, 3, 3}, {6, 7, 4, 11, 18, 19, 20, 23, 24})},
             .attrs = With(Pool(2, 2, 0), "ceil_mode", std::int64_t{1})});
  CheckCase({.op = "MaxPool",
             .inputs = {Wave()},
             .expect = {F32({1, 1, 3, 3},
                            {10.12625, 11.79681, 10.12625, 5.277316, 11.8857, 18.78539, 10.12625, 11.79681, 10.1803}),
                        I64({1, 1, 3, 3}, {12, 13, 12, 7, 18, 19, 12, 13, 24})},
             .attrs = With(Pool(2, 1, 0), "dilations", Ints{2, 2})});
}

// By hand: indices count over the whole tensor, ties go to the first.
TEST(MaxPool, IndexesTheWholeTensor) {
  CheckCase({.op = "MaxPool",
             .inputs = {F32({2, 1, 2}, {3, 3, 1, 2})},
             .expect = {F32({2, 1, 1}, {3, 2}), I64({2, 1, 1}, {0, 3})},
             .attrs = {{"kernel_shape", Ints{2}}},
             .gradient = {-1}});
  CheckCase({.op = "MaxPool",
             .inputs = {Random({2, 3, 4, 4})},
             .expect = {},
             .attrs = Pool(2, 2, 0),
             .symbolic = true,
             .outputs = 2});
  CheckCase(
      {.op = "MaxPool", .inputs = {Random({1, 2, 3, 3, 3})}, .expect = {}, .attrs = {{"kernel_shape", Ints{2, 2, 2}}}});
  CheckCase({.op = "MaxPool",
             .inputs = {Of(DType::kU8, {1, 1, 4}, {1, 200, 3, 4})},
             .expect = {Of(DType::kU8, {1, 1, 2}, {200, 4})},
             .attrs = {{"kernel_shape", Ints{2}}, {"strides", Ints{2}}}});
  CheckCase({.op = "MaxPool",
             .inputs = {F32({0, 1, 4}, {})},
             .expect = {F32({0, 1, 2}, {})},
             .attrs = {{"kernel_shape", Ints{2}}, {"strides", Ints{2}}}});
}

TEST(MaxPool, LetsNanThroughAndPaddingNeverWins) {
  CheckCase({.op = "MaxPool",
             .inputs = {F32({1, 1, 4}, {1, kNan, 3, 2})},
             .expect = {F32({1, 1, 3}, {kNan, kNan, 3}), I64({1, 1, 3}, {1, 1, 2})},
             .attrs = {{"kernel_shape", Ints{2}}},
             .gradient = {-1}});
  CheckCase({.op = "MaxPool",
             .inputs = {F32({1, 1, 2}, {-5, -7})},
             .expect = {F32({1, 1, 3}, {-5, -5, -7})},
             .attrs = {{"kernel_shape", Ints{2}}, {"pads", Ints{1, 1}}}});
}

// Field case G16, by hand.
TEST(Pools, PadAtTheEndOnly) {
  const Attributes attrs{{"kernel_shape", Ints{3, 3}}, {"strides", Ints{2, 2}}, {"pads", Ints{0, 0, 1, 1}}};
  CheckCase({.op = "MaxPool",
             .inputs = {Ramp({1, 1, 4, 4})},
             .expect = {F32({1, 1, 2, 2}, {10, 11, 14, 15})},
             .attrs = attrs});
  CheckCase({.op = "AveragePool",
             .inputs = {Ramp({1, 1, 4, 4})},
             .expect = {F32({1, 1, 2, 2}, {5, 6.5, 11, 12.5})},
             .attrs = attrs});
  CheckCase({.op = "AveragePool",
             .inputs = {Ramp({1, 1, 4, 4})},
             .expect = {F32({1, 1, 2, 2}, {5, 39. / 9, 66. / 9, 50. / 9})},
             .attrs = With(attrs, "count_include_pad", std::int64_t{1})});
  CheckCase({.op = "MaxPool",
             .inputs = {F32({1, 1, 3}, {1, 2, 3})},
             .expect = {F32({1, 1, 2}, {2, 3})},
             .attrs = {{"kernel_shape", Ints{2}}, {"strides", Ints{2}}, {"auto_pad", std::string("SAME_UPPER")}}});
  CheckCase({.op = "MaxPool",
             .inputs = {F32({1, 1, 3}, {1, 2, 3})},
             .expect = {F32({1, 1, 2}, {1, 3})},
             .attrs = {{"kernel_shape", Ints{2}}, {"strides", Ints{2}}, {"auto_pad", std::string("SAME_LOWER")}}});
}

TEST(AveragePool, CountsPaddingOnRequest) {
  CheckCase({.op = "AveragePool",
             .inputs = {Wave()},
             .expect = {F32({1, 1, 3, 3}, {1.929909, 1.102061, -3.737181, -4.646762, 2.636828, 5.836341, -7.514636,
                                           -8.97854, 7.149056})},
             .attrs = Pool(3, 2, 1),
             .other_floats = false});
  CheckCase({.op = "AveragePool",
             .inputs = {Wave()},
             .expect = {F32({1, 1, 3, 3}, {0.8577372, 0.7347076, -1.660969, -3.097841, 2.636828, 3.890894, -3.339838,
                                           -5.985693, 3.177358})},
             .attrs = With(Pool(3, 2, 1), "count_include_pad", std::int64_t{1}),
             .other_floats = false});
}

TEST(AveragePool, RoundsUp) {
  const AttrValue yes = std::int64_t{1};
  CheckCase({.op = "AveragePool",
             .inputs = {Wave()},
             .expect = {F32({1, 1, 3, 3}, {1.929909, 0.07776109, -5.407373, -8.764976, 7.282745, 10.34985, -1.670337,
                                           -17.12715, 10.1803})},
             .attrs = With(Pool(2, 2, 0), "ceil_mode", yes),
             .other_floats = false});
  CheckCase({.op = "AveragePool",
             .inputs = {Wave()},
             .expect = {F32({1, 1, 2, 2}, {1.929909, -1.750617, -6.400096, 2.861854})},
             .attrs = With(Pool(3, 3, 1), "ceil_mode", yes),
             .other_floats = false});
  CheckCase({.op = "AveragePool",
             .inputs = {Wave()},
             .expect = {F32({1, 1, 2, 2}, {0.8577372, -1.167078, -4.266731, 2.861854})},
             .attrs = With(With(Pool(3, 3, 1), "ceil_mode", yes), "count_include_pad", yes),
             .other_floats = false});
  // 6 elements, window 2, stride 3: by hand, the third window would start behind the input and is dropped.
  CheckCase({.op = "AveragePool",
             .inputs = {Ramp({1, 1, 6})},
             .expect = {F32({1, 1, 2}, {0.5, 3.5})},
             .attrs = {{"kernel_shape", Ints{2}}, {"strides", Ints{3}}, {"ceil_mode", std::int64_t{1}}},
             .symbolic = false});
}

TEST(Pools, HaveSecondGradients) {
  Attributes attrs = Pool(2, 2, 0);
  attrs.Set("x_shape", Ints{1, 1, 4, 4});
  CheckCase(
      {.op = "AveragePoolGrad", .inputs = {Random({1, 1, 2, 2})}, .expect = {}, .attrs = attrs, .domain = "tenon"});
  CheckCase({.op = "MaxPoolGrad",
             .inputs = {Random({1, 1, 2, 2}), I64({1, 1, 2, 2}, {0, 3, 9, 15})},
             .expect = {},
             .attrs = attrs,
             .domain = "tenon"});
  CheckFails({.op = "MaxPoolGrad",
              .inputs = {Random({1, 1, 2, 2}), I64({1, 1, 2, 2}, {0, 3, 9, 16})},
              .expect = {},
              .attrs = attrs,
              .domain = "tenon"},
             "Index 16 of element 3 is outside [0, 16), the elements of dX.");
}

TEST(GlobalAveragePool, IsAMeanOverSpace) {
  CheckCase({.op = "GlobalAveragePool",
             .inputs = {F32({2, 1, 2, 2}, {1, 2, 3, 6, 0, 0, 0, 2})},
             .expect = {F32({2, 1, 1, 1}, {3, 0.5})},
             .symbolic = true});
  CheckFails({.op = "GlobalAveragePool", .inputs = {Ramp({2, 3})}, .expect = {}},
             "GlobalAveragePool takes X [N, C, D1 ..]; it has shape [2,3].");
}

TEST(Pools, NameWhatIsWrong) {
  CheckFails({.op = "MaxPool", .inputs = {Wave()}, .expect = {}},
             "MaxPool needs the attribute 'kernel_shape' (list of ints).");
  CheckFails({.op = "MaxPool", .inputs = {Wave()}, .expect = {}, .attrs = {{"kernel_shape", Ints{2}}}},
             "kernel_shape is [2]; it must have 2 values for an input of shape [1,1,5,5].");
  CheckFails({.op = "MaxPool",
              .inputs = {Wave()},
              .expect = {},
              .attrs = With(Pool(2, 1, 0), "storage_order", std::int64_t{1})},
             "MaxPool storage_order is 1; only row-major indices (0) are supported.");
  CheckFails({.op = "AveragePool", .inputs = {Ramp({2, 3})}, .expect = {}, .attrs = Pool(2, 1, 0)},
             "The input has shape [2,3]; it must be [N, C, D1 ..] with one to three spatial axes.");
}

}  // namespace
}  // namespace tenon::testing
