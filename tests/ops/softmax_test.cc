// Softmax, LogSoftmax and the cross-entropy loss. Listed values from PyTorch 2.15 in float64.
#include <gtest/gtest.h>

#include <limits>

#include "tests/support/op_case.h"

namespace tenon::testing {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

// (-1 + 0.25 i) * cos(i)
const Tensor& Wave() {
  static const Tensor wave =
      F32({2, 3, 4}, {-1,        -0.4052267, 0.2080734, 0.2474981,   -0,       0.07091555, 0.4800851, 0.5654267,
                      -0.1455,   -1.138913,  -1.258607, 0.007744971, 1.687708, 2.041755,   0.341843,  -2.089142,
                      -2.872978, -0.8942808, 2.311108,  3.707642,    1.632328, -2.327849,  -4.499824, -2.530957});
  return wave;
}

Attributes Axis(std::int64_t axis) { return {{"axis", axis}}; }

// Field case G19: before opset 13 everything from axis on is one group, since then one axis.
TEST(Softmax, DependsOnTheOpset) {
  const Tensor last =
      F32({2, 3, 4}, {0.1037208,  0.1880063,  0.3471565, 0.3611164, 0.1834896, 0.1969743,  0.296558,    0.3229781,
                      0.3491062,  0.1292778,  0.1146941, 0.4069219, 0.3692719, 0.5261469,  0.09612681,  0.00845437,
                      0.00110177, 0.00796945, 0.1965673, 0.7943615, 0.9645173, 0.01838344, 0.002094837, 0.01500439});
  const Tensor twelve = F32({2, 3, 4}, {0.03206394, 0.05811973, 0.107319,   0.1116345,   0.08715882,   0.09356417,
                                        0.1408671,  0.1534168,  0.07535663, 0.02790537,  0.02475741,   0.08783648,
                                        0.07588328, 0.1081202,  0.01975352, 0.001737325, 0.0007933507, 0.005738556,
                                        0.1415421,  0.5719953,  0.07179514, 0.001368396, 0.000155932,  0.001116872});
  CheckCase({.op = "Softmax", .inputs = {Wave()}, .expect = {last}, .symbolic = true});
  CheckCase({.op = "Softmax", .inputs = {Wave()}, .expect = {last}, .attrs = Axis(2), .version = 13});
  CheckCase({.op = "Softmax", .inputs = {Wave()}, .expect = {twelve}, .version = 11});
  CheckCase({.op = "LogSoftmax",
             .inputs = {Wave()},
             .expect = {F32({2, 3, 4},
                            {-3.440023, -2.84525,  -2.23195,  -2.192525,  -2.440023, -2.369108, -1.959938, -1.874597,
                             -2.585523, -3.578936, -3.698631, -2.432278,  -2.578559, -2.224512, -3.924424, -6.355409,
                             -7.139245, -5.160548, -1.955158, -0.5586244, -2.633939, -6.594116, -8.76609,  -6.797224})},
             .version = 12});
}

TEST(Softmax, AlongAMiddleAxis) {
  CheckCase({.op = "Softmax",
             .inputs = {Wave()},
             .expect = {F32({2, 3, 4}, {0.1647859, 0.3236259, 0.3931911, 0.3163456,   0.4479345,    0.5209897,
                                        0.5161036, 0.4347468, 0.3872796, 0.1553844,   0.09070524,   0.2489077,
                                        0.5110957, 0.9383223, 0.1223495, 0.003022226, 0.005343445,  0.04980211,
                                        0.8766847, 0.9950349, 0.4835609, 0.01187564,  0.0009658132, 0.001942894})},
             .attrs = Axis(-2)});
  CheckCase({.op = "LogSoftmax",
             .inputs = {Wave()},
             .expect = {F32({2, 3, 4}, {-1.803108,  -1.128167,    -0.9334594, -1.15092,  -0.8031083, -0.6520249,
                                        -0.6614477, -0.8329915,   -0.9486083, -1.861853, -2.40014,   -1.390673,
                                        -0.6711984, -0.06366183,  -2.100873,  -5.801762, -5.231885,  -2.999698,
                                        -0.1316079, -0.004977487, -0.7265781, -4.433266, -6.94254,   -6.243577})},
             .attrs = Axis(1)});
}

TEST(Softmax, StandsExtremes) {
  CheckCase({.op = "Softmax",
             .inputs = {F32({2, 2}, {1000, 1000, -kInf, 0})},
             .expect = {F32({2, 2}, {0.5, 0.5, 0, 1})},
             .gradient = {-1}});
  CheckCase(
      {.op = "LogSoftmax", .inputs = {F32({1, 2}, {1000, 0})}, .expect = {F32({1, 2}, {0, -1000})}, .gradient = {-1}});
  CheckCase(
      {.op = "Softmax", .inputs = {F32({1, 2}, {kNan, 0})}, .expect = {F32({1, 2}, {kNan, kNan})}, .gradient = {-1}});
  for (const char* op : {"Softmax", "LogSoftmax"}) {
    CheckCase({.op = op, .inputs = {F32({2, 0}, {})}, .expect = {F32({2, 0}, {})}});
    CheckCase({.op = op, .inputs = {F32({0, 3}, {})}, .expect = {F32({0, 3}, {})}});
    CheckFails({.op = op, .inputs = {Ramp({2, 2})}, .expect = {}, .attrs = Axis(2)},
               "Axis (2) is outside [-2, 2) of a tensor of rank 2.");
  }
}

TEST(Softmax, HasSecondGradients) {
  const Tensor dy = Random({2, 3, 2}, -1, 1, 3), y = Random({2, 3, 2}, 0.1, 0.9, 4);
  for (const char* op : {"SoftmaxGrad", "LogSoftmaxGrad"}) {
    CheckCase({.op = op, .inputs = {dy, y}, .expect = {}, .attrs = Axis(1), .domain = "tenon"});
  }
}

const Tensor& Scores() {
  static const Tensor scores = F32({3, 4}, {1, 2, 0.5, -1, 0, 0, 3, 1, 2, -2, 1, 0});
  return scores;
}
const Tensor& LogProbabilities() {
  static const Tensor values = F32({3, 4}, {-1.495182, -0.4951819, -1.995182, -3.495182, -3.210998, -3.210998,
                                            -0.2109976, -2.210998, -0.4197166, -4.419717, -1.419717, -2.419717});
  return values;
}
Attributes Reduction(const char* how) { return {{"reduction", std::string(how)}}; }
Attributes Ignoring(const char* how) { return {{"reduction", std::string(how)}, {"ignore_index", std::int64_t{3}}}; }

TEST(CrossEntropy, ReducesWeighsAndIgnores) {
  const Tensor labels = I64({3}, {1, 3, 0}), weights = F32({4}, {0.5, 1, 2, 3});
  const struct {
    const char* how;
    Tensor plain, weighted, ignoring;
  } rows[] = {{"none", F32({3}, {0.4951819, 2.210998, 0.4197166}), F32({3}, {0.4951819, 6.632993, 0.2098583}),
               F32({3}, {0.4951819, 0, 0.2098583})},
              {"sum", F32({}, {3.125896}), F32({}, {7.338033}), F32({}, {0.7050402})},
              {"mean", F32({}, {1.041965}), F32({}, {1.630674}), F32({}, {0.4700268})}};
  for (const auto& row : rows) {
    CheckCase({.op = "SoftmaxCrossEntropyLoss",
               .inputs = {Scores(), labels},
               .expect = {row.plain, LogProbabilities()},
               .attrs = Reduction(row.how),
               .gradient = {0}});
    CheckCase({.op = "SoftmaxCrossEntropyLoss",
               .inputs = {Scores(), labels, weights},
               .expect = {row.weighted},
               .attrs = Reduction(row.how),
               .gradient = {0}});
    CheckCase({.op = "SoftmaxCrossEntropyLoss",
               .inputs = {Scores(), labels, weights},
               .expect = {row.ignoring},
               .attrs = Ignoring(row.how),
               .gradient = {0}});
  }
  CheckCase({.op = "SoftmaxCrossEntropyLoss",
             .inputs = {Scores(), I32({3}, {1, 3, 0})},
             .expect = {F32({}, {1.041965})},
             .gradient = {0}});
}

TEST(CrossEntropy, TakesSpatialAxesAndSymbols) {
  const Tensor scores = F32({2, 3, 2}, {-1, -0.3782116, 0.1664587, 0.09899925, -0.1307287, 0.1418311, 0.7681362,
                                        0.8292925, -0.2037, -1.548921, -1.678143, 0.01017911});
  CheckCase({.op = "SoftmaxCrossEntropyLoss",
             .inputs = {scores, I64({2, 2}, {0, 2, 1, 1})},
             .expect = {F32({}, {1.745754})},
             .gradient = {0}});
  const std::vector<ValueType> types{{DType::kF32, SymShape{Dim::Symbol("N"), 10}},
                                     {DType::kI64, SymShape{Dim::Symbol("N")}}};
  const OpDef* def = BuiltinOps().Find("", "SoftmaxCrossEntropyLoss").value();
  Attributes attrs = Reduction("none");
  const auto outputs = def->InferOutputs(attrs, types, {}, 2);
  ASSERT_TRUE(outputs.ok()) << outputs.status().ToString();
  EXPECT_EQ((*outputs)[0].ToString(), "f32[N]");
  EXPECT_EQ((*outputs)[1].ToString(), "f32[N,10]");
}

TEST(CrossEntropy, OfNothingIsNan) {
  CheckCase({.op = "SoftmaxCrossEntropyLoss",
             .inputs = {Scores(), I64({3}, {3, 3, 3})},
             .expect = {F32({}, {kNan})},
             .attrs = Ignoring("mean"),
             .gradient = {-1}});
  CheckCase({.op = "SoftmaxCrossEntropyLoss",
             .inputs = {F32({0, 4}, {}), I64({0}, {})},
             .expect = {F32({}, {0})},
             .attrs = Reduction("sum"),
             .gradient = {0}});
}

// A label outside the classes never wraps around and never counts as a loss of 0.
TEST(CrossEntropy, NamesTheSampleOfABadLabel) {
  CheckFails({.op = "SoftmaxCrossEntropyLoss", .inputs = {Scores(), I64({3}, {1, 4, 0})}, .expect = {}},
             "The label of sample 1 is 4; with 4 classes it must be 0 to 3.");
  CheckFails({.op = "SoftmaxCrossEntropyLoss", .inputs = {Scores(), I64({3}, {1, 0, -1})}, .expect = {}},
             "The label of sample 2 is -1; with 4 classes it must be 0 to 3. ignore_index: -1 leaves such labels out.");
  CheckFails({.op = "SoftmaxCrossEntropyLoss", .inputs = {Scores(), I64({2}, {1, 0})}, .expect = {}},
             "scores have shape [3,4] and labels [2]; they must be [N, C, D1 ..] and [N, D1 ..].");
  CheckFails({.op = "SoftmaxCrossEntropyLoss",
              .inputs = {Scores(), I64({3}, {1, 0, 0})},
              .expect = {},
              .attrs = Reduction("avg")},
             "reduction is 'avg'; it can be none, sum or mean.");
}

}  // namespace
}  // namespace tenon::testing
