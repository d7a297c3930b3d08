// BatchNormalization, LayerNormalization and Dropout. Listed values of the first two from PyTorch 2.15 in float64 (running_var by hand: ONNX takes
// the population variance), the words of Philox from its authors' known-answer file.
#include <gtest/gtest.h>

#include "core/ops/philox.h"
#include "tests/support/op_case.h"

namespace tenon::testing {
namespace {

struct Layer {
  // 0.5 i * cos(i), two channels
  Tensor x = F32({2, 2, 3}, {0, 0.2701512, -0.4161468, -1.484989, -1.307287, 0.7091555, 2.880511, 2.638658, -0.5820001,
                             -4.100086, -4.195358, 0.02434134});
  Tensor scale = F32({2}, {1.5, -0.5}), bias = F32({2}, {0.1, 0.2}), mean = F32({2}, {0.3, -0.4}),
         var = F32({2}, {2, 0.5});
  std::vector<Tensor> inputs() const { return {x, scale, bias, mean, var}; }
};

const Attributes kTraining{{"training_mode", std::int64_t{1}}};

TEST(BatchNormalization, InfersWithTheRunningStatistics) {
  const Layer layer;
  const Tensor y = F32({2, 2, 3}, {-0.2181973, 0.0683406, -0.6595865, 0.9671952, 0.8415425, -0.5842835, 2.837038,
                                   2.580515, -0.8355001, 2.81633, 2.883696, -0.1000516});
  CheckCase({.op = "BatchNormalization", .inputs = layer.inputs(), .expect = {y}, .gradient = {0, 1, 2}});
  CheckCase({.op = "BatchNormalization", .inputs = layer.inputs(), .expect = {y}, .version = 9});
}

TEST(BatchNormalization, TrainsOnTheBatch) {
  const Layer layer;
  CheckCase({.op = "BatchNormalization",
             .inputs = layer.inputs(),
             .expect = {F32({2, 2, 3}, {-0.7463011, -0.459988, -1.187344, 0.1356066, 0.08806989, -0.4513462, 2.306537,
                                        2.050215, -1.36312, 0.8351681, 0.860654, -0.2681524}),
                        F32({2}, {0.3498529, -0.5325704}), F32({2}, {2.000314, 0.7993516}),
                        F32({2}, {0.7985288, -1.725704}), F32({2}, {0.7065502, 0.5350175})},
             .attrs = kTraining,
             .gradient = {0, 1, 2}});
  // Another momentum: the old value weighs 0.5. One output is enough, and it is the batch's (field case G21).
  Attributes half = kTraining;
  half.Set("momentum", 0.5);
  CheckCase({.op = "BatchNormalization",
             .inputs = layer.inputs(),
             .expect = {Tensor(), F32({2}, {0.5492644, -1.062852})},
             .attrs = half,
             .gradient = {-1}});
  CheckCase({.op = "BatchNormalization",
             .inputs = {Random({4, 3}), Random({3}), Random({3}), Random({3}), Random({3}, 1, 2)},
             .expect = {},
             .attrs = kTraining,
             .gradient = {0, 1, 2}});
}

TEST(BatchNormalization, RefusesASingleValuePerChannel) {
  const Tensor one = F32({2}, {1, 1});
  CheckFails({.op = "BatchNormalization",
              .inputs = {Ramp({1, 2, 1, 1}), one, one, one, one},
              .expect = {},
              .attrs = kTraining},
             "BatchNormalization cannot train on one value per channel; X has shape [1,2,1,1].");
  CheckCase(
      {.op = "BatchNormalization", .inputs = {Ramp({1, 2, 1, 1}), one, one, one, one}, .expect = {}, .gradient = {0}});
  CheckFails({.op = "BatchNormalization", .inputs = {Ramp({2, 3}), one, one, one, one}, .expect = {}},
             "BatchNormalization scale has shape [2]; X [2,3] needs [3].");
  CheckFails({.op = "BatchNormalization",
              .inputs = {Ramp({2, 2}), one, one, one, one},
              .expect = {},
              .version = 9,
              .outputs = 3},
             "BatchNormalization has at most 1 outputs; 3 are wanted.");
}

TEST(LayerNormalization, NormalisesRows) {
  const Tensor x = F32({2, 3}, {1, 2, 4, -1, 0.5, 0.25}), scale = F32({3}, {1, 2, -1}), bias = F32({3}, {0, 0.5, 1});
  CheckCase({.op = "LayerNormalization",
             .inputs = {x, scale, bias},
             .expect = {F32({2, 3}, {-1.069042, -0.03452077, -0.3363019, -1.396985, 2.277981, 0.4920054})},
             .gradient = {0, 1, 2},
             .symbolic = true});
  CheckCase({.op = "LayerNormalization",
             .inputs = {Random({2, 2, 3}), Random({2, 3})},
             .expect = {},
             .attrs = {{"axis", std::int64_t{1}}},
             .gradient = {0, 1}});
  CheckFails({.op = "LayerNormalization", .inputs = {x, F32({2}, {1, 1})}, .expect = {}},
             "LayerNormalization Scale has shape [2]; X [2,3] from axis 1 on needs [3].");
}

TEST(Philox, GivesTheKnownAnswers) {
  using Words = std::array<std::uint32_t, 4>;
  EXPECT_EQ(Philox({0, 0, 0, 0}, 0), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(Philox({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, 0xffffffffffffffff),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(Philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, 0x299f31d0a4093822),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

OpCase Dropped(double ratio, bool training) {
  return {.op = "Dropout",
          .inputs = {Ramp({10000}, 1, 0), F32({}, {ratio}), Bool({}, {training ? 1 : 0})},
          .expect = {},
          .gradient = {-1},
          .other_floats = false,
          .random = {123, 7},
          .outputs = 2};
}

TEST(Dropout, KeepsTheRightShareAndScale) {
  for (const double ratio : {0.1, 0.5, 0.9}) {
    const auto outputs = Outputs(Dropped(ratio, true));
    double kept = 0;
    for (std::int64_t i = 0; i < 10000; ++i) {
      const bool keep = outputs[1].data<bool>()[i];
      kept += keep ? 1 : 0;
      EXPECT_FLOAT_EQ(outputs[0].data<float>()[i], keep ? static_cast<float>(1 / (1 - ratio)) : 0.0f);
    }
    EXPECT_NEAR(kept / 10000, 1 - ratio, 0.02);
  }
}

TEST(Dropout, DependsOnKeyOffsetAndSeedOnly) {
  const auto mask = [](RandomState random, Attributes attrs = {}) {
    OpCase row = Dropped(0.5, true);
    row.random = random;
    row.attrs = std::move(attrs);
    const Tensor values = Outputs(row)[1];
    return std::string(static_cast<const char*>(values.raw()), 10000);
  };
  EXPECT_EQ(mask({123, 7}), mask({123, 7}));
  EXPECT_NE(mask({123, 7}), mask({123, 8}));
  EXPECT_NE(mask({123, 7}), mask({124, 7}));
  EXPECT_EQ(mask({1, 7}, {{"seed", std::int64_t{123}}}), mask({123, 7}));
  // Element i uses word i % 4 of block i / 4.
  const auto words = PhiloxBlock(123, 7, 0);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(mask({123, 7})[i] != 0, words[i] >= 0x80000000u);
}

TEST(Dropout, IsTheIdentityInInference) {
  CheckCase({.op = "Dropout",
             .inputs = {Ramp({4}), F32({}, {0.5})},
             .expect = {Ramp({4}), Bool({4}, {1, 1, 1, 1})},
             .gradient = {0}});
  CheckCase({.op = "Dropout",
             .inputs = {Ramp({4}), F32({}, {0.5}), Bool({}, {0})},
             .expect = {Ramp({4})},
             .gradient = {0},
             .symbolic = true});
  CheckCase(
      {.op = "Dropout", .inputs = {Ramp({4}), F32({}, {0}), Bool({}, {1})}, .expect = {Ramp({4})}, .gradient = {0}});
  CheckCase({.op = "Dropout", .inputs = {Ramp({4})}, .expect = {Ramp({4})}, .version = 7});
  CheckCase({.op = "Dropout",
             .inputs = {Random({3, 5}), F32({}, {0.25}), Bool({}, {1})},
             .expect = {},
             .gradient = {0},
             .other_floats = false,
             .random = {5, 1}});
  CheckFails({.op = "Dropout", .inputs = {Ramp({4}), F32({}, {1.5})}, .expect = {}},
             "Dropout ratio (1.5) is outside [0, 1).");
  CheckFails({.op = "Dropout", .inputs = {Ramp({4}), F32({2}, {0.5, 0.5})}, .expect = {}},
             "Dropout ratio is a scalar; it has shape [2].");
}

}  // namespace
}  // namespace tenon::testing
