// Libraries of the legacy ahead-of-time interface (tests/fixtures/legacy_ops), compiled with either std::string, in networks that
// are trained: unchanged, through one line of plugins.load. Expected losses are those of the operators' definitions.
#include <gtest/gtest.h>

#include "tests/e2e/run_case.h"
#include "tests/support/plugin_fixtures.h"

namespace tenon {
namespace {

using testing_support::FixtureFolder;
using testing_support::RunCase;
using testing_support::ToolPath;
using testing_support::ToolResult;

constexpr char kSignatures[] =
    "options: {operators: {Scale: \"(x) -> (y) {factor: float = 2, mode: text, negate: flag, offsets: ints, rows: "
    "float_rows} gradient ScaleGrad\", Halves: \"(x) -> (low, high)\", ScaleGrad: \"(x, y, dy) -> (dx) {factor: float, "
    "mode: "
    "text}\"}}";

std::string Library(const std::string& abi) { return FixtureFolder("legacy_ops_" + abi) + "/legacy_ops.so"; }

std::string Sections(const std::string& load, const std::string& layers, const std::string& mode = "graph") {
  return "mode: " + mode + "\nplugins:\n  trust: off\n  load:\n    - device_cpu\n    - {" + load + "}\n" + R"(
data: {type: synthetic, samples: 40, classes: 4, image: {shape: [1, 2, 3]}, batch: 8}
optimizer: {type: sgd, lr: 0.1}
train: {epochs: 3}
network:
  layers:
)" + layers;
}
std::string Aot(const std::string& abi, const std::string& options = kSignatures) {
  return "path: " + Library(abi) + ", legacy: aot" + (options.empty() ? "" : ", " + options);
}

constexpr char kOwn[] = R"(    - flatten
    - {op: {domain: aot, type: AddOne}}
    - {linear: {out: 8}}
    - {op: {domain: aot, type: Scale, attrs: {factor: 4.0, mode: divide by the factor, negate: true, offsets: [1, 2], rows: [[0.5, 0.25], [0.25, 1.0]]}}}
    - {op: {domain: aot, type: Scale}}
    - {linear: {out: 4}}
)";
// y = -x / 4 + 3 + 2, then y = 2 x.
constexpr char kComposed[] = R"(    - flatten
    - {op: {type: Add, constants: {B: 1.0}}}
    - {linear: {out: 8}}
    - {op: {type: Mul, constants: {B: -0.25}}}
    - {op: {type: Add, constants: {B: 5.0}}}
    - {op: {type: Mul, constants: {B: 2.0}}}
    - {linear: {out: 4}}
)";

std::vector<double> Losses(const std::string& load, const std::string& layers, const std::string& mode) {
  const RunCase run(Sections(load, layers, mode));
  const ToolResult result = run.Train();
  EXPECT_EQ(result.exit_code, 0) << layers << result.err;
  return run.Summary().at("train_loss").get<std::vector<double>>();
}

TEST(LegacyOps, TrainUnchangedWithEitherString) {
  for (const char* mode : {"graph", "pynative"}) {
    const std::vector<double> expected = Losses(Aot("0"), kComposed, mode);
    ASSERT_EQ(expected.size(), 3U);
    for (const char* abi : {"0", "1"}) {
      const std::vector<double> losses = Losses(Aot(abi), kOwn, mode);
      ASSERT_EQ(losses.size(), 3U) << mode << abi;
      for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(losses[i], expected[i], 1e-5) << mode << " " << abi << " " << i;
    }
  }
}

TEST(LegacyOps, SeveralOutputs) {
  const std::string layers =
      "    - flatten\n    - {op: {domain: aot, type: Halves, name: halves, outputs: [low, high]}}\n"
      "    - {add: {input: [low, high]}}\n    - {linear: {out: 4}}\n";
  const std::string composed =
      "    - flatten\n    - {split: {axis: 1, parts: 2, outputs: [low, high]}}\n"
      "    - {add: {input: [low, high]}}\n    - {linear: {out: 4}}\n";
  const std::vector<double> expected = Losses(Aot("1"), composed, "graph"), losses = Losses(Aot("1"), layers, "graph");
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(losses.at(i), expected.at(i), 1e-6);
}

void ExpectRefused(const std::string& load, const std::string& layers, int exit_code,
                   const std::vector<std::string>& parts) {
  const RunCase run(Sections(load, layers));
  const ToolResult result = run.Train();
  EXPECT_EQ(result.exit_code, exit_code) << result.err;
  for (const std::string& part : parts)
    EXPECT_NE(result.err.find(part), std::string::npos) << part << " in\n" << result.err;
}

TEST(LegacyOps, WhatIsSaidWhenSomethingIsWrong) {
  const std::string one = "    - flatten\n    - {linear: {out: 4}}\n    - {op: {domain: aot, name: act, type: ";
  ExpectRefused(Aot("1"),
                "    - flatten\n    - {op: {domain: aot, type: Broken, name: act}}\n    - {linear: {out: 4}}\n", 1,
                {"'act'", "Broken of legacy_ops.so returned 42"});
  ExpectRefused(Aot("1"), one + "AddOne}}\n", 2, {"aot.AddOne of legacy_aot.so", "declares no gradient", "'act'"});
  ExpectRefused(Aot("1"), one + "AddOn}}\n", 2, {"'AddOn'", "Did you mean 'AddOne'?"});
  // Without a signature the library's attributes are nobody's.
  ExpectRefused(Aot("1", ""),
                "    - flatten\n    - {op: {domain: aot, type: Scale, name: act}}\n    - {linear: {out: 4}}\n", 2,
                {"reads attribute 'factor'", "signature"});
  ExpectRefused(Aot("1", "options: {operators: {Scale: \"(x) -> (y) {factor: real}\"}}"), one + "Scale}}\n", 2,
                {"'real' is no type", "character 25"});
  ExpectRefused(Aot("1", "options: {operators: {Skale: \"(x) -> (y)\"}}"), one + "Scale}}\n", 2, {"Skale"});
  ExpectRefused("path: /nowhere/old.so, legacy: aot", one + "Scale}}\n", 3, {"old.so", "cannot be found"});
  ExpectRefused("path: " + ToolPath("../lib/tenon/plugins/device_cpu.so") + ", legacy: aot", one + "Scale}}\n", 3,
                {"device_cpu.so", "Leave 'legacy' out"});
}

}  // namespace
}  // namespace tenon
