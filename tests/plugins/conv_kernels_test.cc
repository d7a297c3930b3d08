// Convolutions of every kind through the kernels of a plugin: grouped, depthwise, dilated, strided, padded on one side,
// lines, images and volumes, f32 and bf16. Expected: the reference kernels of the same operators, whose values tests/ops
// compares with outside sources.
#include <gtest/gtest.h>

#include "tests/plugins/compare.h"

namespace tenon::testing {
namespace {

struct ConvCase {
  Shape x, w;
  std::vector<std::int64_t> strides, dilations, pads;
  std::int64_t group = 1;
};

const ConvCase kCases[] = {
    {{2, 16, 9, 7}, {32, 16, 3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
    {{2, 32, 8, 8}, {48, 32, 3, 3}, {2, 2}, {1, 1}, {1, 1, 1, 1}},
    {{2, 32, 7, 9}, {64, 32, 1, 1}, {2, 2}, {1, 1}, {0, 0, 0, 0}},
    {{1, 20, 9, 9}, {24, 20, 3, 3}, {1, 1}, {2, 2}, {2, 2, 2, 2}},
    {{2, 3, 12, 12}, {16, 3, 7, 7}, {2, 2}, {1, 1}, {3, 3, 3, 3}},
    {{2, 34, 10, 9}, {50, 34, 3, 2}, {2, 3}, {3, 2}, {1, 0, 2, 3}},
    {{1, 34, 11, 5}, {70, 34, 5, 5}, {3, 3}, {1, 1}, {2, 2, 2, 2}},
    {{2, 40, 5, 6}, {36, 40, 1, 1}, {1, 1}, {1, 1}, {0, 0, 0, 0}},
    {{2, 24, 6, 5}, {24, 1, 3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}, 24},
    {{2, 40, 9, 9}, {40, 1, 3, 3}, {2, 2}, {1, 1}, {1, 1, 1, 1}, 40},
    {{2, 24, 8, 8}, {24, 1, 5, 5}, {1, 1}, {2, 2}, {4, 4, 4, 4}, 24},
    {{2, 32, 8, 8}, {64, 8, 3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}, 4},
    {{2, 64, 6, 6}, {64, 32, 3, 3}, {2, 1}, {1, 1}, {0, 1, 1, 1}, 2},
    {{3, 16, 20}, {24, 16, 5}, {2}, {1}, {2, 1}},
    {{2, 40, 1200}, {48, 40, 3}, {1}, {2}, {2, 2}},
    {{2, 33, 90}, {35, 33, 5}, {1}, {3}, {1, 40}},
    {{3, 64, 100}, {32, 64, 1}, {1}, {1}, {0, 0}},
    {{1, 16, 4, 5, 6}, {20, 16, 3, 3, 3}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1, 1, 1, 1}},
    {{2, 3, 6, 6, 6}, {8, 3, 2, 2, 2}, {2, 2, 2}, {1, 1, 1}, {0, 0, 0, 0, 0, 0}},
    {{1, 16, 1, 1}, {16, 16, 3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
};

Attributes AttributesOf(const ConvCase& c) {
  std::vector<std::int64_t> kernel(c.w.dims().begin() + 2, c.w.dims().end());
  return {{"kernel_shape", kernel},
          {"strides", c.strides},
          {"dilations", c.dilations},
          {"pads", c.pads},
          {"group", c.group}};
}

void CheckAll(const ConvCase& c, DType dtype, double tolerance) {
  const std::string what = fmt::format("x {} w {} group {} {}", c.x, c.w, c.group, NameOf(dtype));
  const Tensor x = Cast(Random(c.x, -1, 1, 1), dtype), w = Cast(Random(c.w, -1, 1, 2), dtype);
  const Tensor b = Random(Shape{c.w[0]}, -1, 1, 3);
  const bool narrow = dtype != DType::kF32;
  const Attributes attrs = AttributesOf(c);
  std::vector<Tensor> forward_inputs = {x, w};
  if (!narrow) forward_inputs.push_back(b);
  const auto y = CompareWithReference({"", "Conv", 0, attrs, forward_inputs, 1, {}}, tolerance, "Conv " + what);
  ASSERT_EQ(y.size(), 1u);
  const Tensor dy = Cast(Random(y[0].shape(), -1, 1, 4), dtype);
  Attributes data = attrs;
  data.Set("x_shape", std::vector<std::int64_t>(c.x.dims().begin(), c.x.dims().end()));
  CompareWithReference({"tenon", "ConvInputGrad", 0, data, {dy, w}, 1, {}}, tolerance, "ConvInputGrad " + what);
  CompareWithReference({"tenon", "ConvWeightGrad", 0, attrs, {x, dy}, narrow ? 1 : 2, {}}, tolerance,
                       "ConvWeightGrad " + what);
}

TEST(ConvKernels, AgreeWithTheReference) {
  for (const ConvCase& c : kCases) CheckAll(c, DType::kF32, 3e-6);
}

TEST(ConvKernels, AgreeWithTheReferenceInBf16) {
  for (const ConvCase& c : kCases) CheckAll(c, DType::kBF16, 8e-3);  // the result is rounded to 8 bits
}

TEST(ConvKernels, ConvTransposeAgreesWithTheReference) {
  for (const bool bias : {false, true}) {
    OpCall call{"",
                "ConvTranspose",
                0,
                {{"strides", std::vector<std::int64_t>{2, 2}},
                 {"pads", std::vector<std::int64_t>{1, 1, 1, 1}},
                 {"output_padding", std::vector<std::int64_t>{1, 1}}},
                {Random(Shape{2, 16, 5, 6}, -1, 1, 1), Random(Shape{16, 24, 3, 3}, -1, 1, 2)},
                1,
                {}};
    if (bias) call.inputs.push_back(Random(Shape{24}, -1, 1, 3));
    CompareWithReference(call, 3e-6, "ConvTranspose");
  }
}

}  // namespace
}  // namespace tenon::testing
