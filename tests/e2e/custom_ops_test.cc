// Operators that a plugin defines (tests/fixtures/custom_ops), in networks that are trained: the same losses as the network
// composed of the built-in operators that define them, in both engines; and what is said when something is wrong.
#include <gtest/gtest.h>

#include "tests/e2e/run_case.h"
#include "tests/support/plugin_fixtures.h"

namespace tenon {
namespace {

using testing_support::FixtureFile;
using testing_support::RunCase;
using testing_support::ToolPath;
using testing_support::ToolResult;

std::string Sections(const std::string& layers, const std::string& mode = "graph") {
  return "mode: " + mode +
         "\nplugins:\n  trust: off\n  load:\n    - {path: " + ToolPath("../lib/tenon/plugins/device_cpu.so") +
         "}\n    - {path: " + FixtureFile("custom_ops") + "}\n" + R"(
data: {type: synthetic, samples: 40, classes: 4, image: {shape: [1, 2, 3]}, batch: 8}
optimizer: {type: sgd, lr: 0.1}
train: {epochs: 4}
network:
  layers:
)" + layers;
}

std::vector<double> Losses(const std::string& layers, const std::string& mode) {
  const RunCase run(Sections(layers, mode));
  const ToolResult result = run.Train();
  EXPECT_EQ(result.exit_code, 0) << layers << result.err;
  return run.Summary().at("train_loss").get<std::vector<double>>();
}

constexpr char kOwn[] = R"(    - flatten
    - {linear: {out: 8}}
    - {op: {domain: com.example, type: ScaledTanh, attrs: {gain: 2.5, negate: true}}}
    - {linear: {out: 8}}
    - {op: {domain: com.example, type: PairSum}}
    - {op: {domain: com.example, type: ScaledTanh}}
)";
// The definitions: y = gain tanh(x) with the sign turned, and y_i = x_2i + 2 x_(2i+1).
constexpr char kComposed[] = R"(    - flatten
    - {linear: {out: 8}}
    - tanh
    - {op: {type: Mul, constants: {B: -2.5}}}
    - {linear: {out: 8}}
    - {reshape: {shape: [0, 4, 2]}}
    - {op: {type: Mul, constants: {B: [1.0, 2.0]}}}
    - {op: {type: ReduceSum, attrs: {keepdims: 0}, constants: {axes: [2]}}}
    - tanh
    - {op: {type: Mul, constants: {B: 1.5}}}
)";

TEST(CustomOps, TrainLikeTheirDefinition) {
  const std::vector<double> expected = Losses(kComposed, "graph");
  ASSERT_EQ(expected.size(), 4U);
  EXPECT_LT(expected.back(), expected.front());
  for (const char* mode : {"graph", "pynative"}) {
    const std::vector<double> losses = Losses(kOwn, mode);
    ASSERT_EQ(losses.size(), 4U) << mode;
    for (std::size_t i = 0; i < losses.size(); ++i) EXPECT_NEAR(losses[i], expected[i], 1e-5) << mode << " epoch " << i;
  }
}

TEST(CustomOps, AreShownWithTheirKernels) {
  const RunCase run(Sections(kOwn));
  ASSERT_EQ(run.Train().exit_code, 0);
  EXPECT_EQ(run.Summary().at("kernels").at("com.example.ScaledTanh").at("fast"), 2);
  EXPECT_EQ(run.Summary().at("kernels").at("com.example.PairSumGrad").at("fast"), 1);
}

void ExpectRefused(const std::string& layers, int exit_code, const std::vector<std::string>& parts) {
  for (const char* mode : {"graph", "pynative"}) {
    const RunCase run(Sections(layers, mode));
    const ToolResult result = run.Train();
    EXPECT_EQ(result.exit_code, exit_code) << mode << result.err;
    for (const std::string& part : parts) {
      EXPECT_NE(result.err.find(part), std::string::npos) << mode << ": " << part << " in\n" << result.err;
    }
    EXPECT_EQ(result.err.rfind(run.config() + ":", 0), 0U) << mode << "\n" << result.err;
  }
}

// An operator without a gradient is an error where one is needed, and none where its inputs need none.
TEST(CustomOps, GradientThatNobodyDeclared) {
  ExpectRefused("    - flatten\n    - {linear: {out: 4}}\n    - {op: {domain: com.example, type: Opaque, name: act}}\n",
                2, {"com.example.Opaque of custom_ops.so", "declares no gradient", "'act'"});
  const RunCase first(
      Sections("    - flatten\n    - {op: {domain: com.example, type: Opaque}}\n    - {linear: {out: 4}}\n"));
  const ToolResult result = first.Train();
  EXPECT_EQ(result.exit_code, 0) << result.err;
}

TEST(CustomOps, ShapeRuleObjects) {
  ExpectRefused(
      "    - flatten\n    - {linear: {out: 7}}\n    - {op: {domain: com.example, type: PairSum, name: pairs}}\n", 2,
      {"The last axis of X must be even.", "7", "custom_ops.so", "pairs"});
}

// Under a low precision an operator that is defined for float32 alone computes in float32.
TEST(CustomOps, StayInTheirPrecision) {
  for (const char* mode : {"graph", "pynative"}) {
    for (const char* level : {"O1", "O2", "O3", "auto"}) {
      const RunCase run(Sections(kOwn, mode) + "amp: {level: " + level + ", dtype: bf16}\n");
      const ToolResult result = run.Train();
      EXPECT_EQ(result.exit_code, 0) << mode << " " << level << result.err;
      EXPECT_LT(run.Summary().at("train_loss").back(), run.Summary().at("train_loss").front()) << mode << " " << level;
    }
  }
}

TEST(CustomOps, NamesAndAttributesAreChecked) {
  ExpectRefused("    - flatten\n    - {op: {domain: com.example, type: ScaledTan}}\n", 2,
                {"'ScaledTan'", "com.example", "Did you mean 'ScaledTanh'?"});
  ExpectRefused("    - flatten\n    - {op: {domain: com.example, type: ScaledTanh, attrs: {gian: 1.0}}}\n", 2,
                {"'gian'", "Did you mean 'gain'?"});
  ExpectRefused("    - flatten\n    - {op: {domain: com.example, type: ScaledTanh, attrs: {negate: 2}}}\n", 2,
                {"negate", "true or false", "2"});
}

}  // namespace
}  // namespace tenon
