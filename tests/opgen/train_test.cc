// From a file of operators to a network that trains with them: made, built untouched, loaded, trained in both modes and on
// both devices, with the losses of the network that is composed of built-in operators.
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/e2e/run_case.h"

namespace tenon {
namespace {

using testing_support::ReadFile;
using testing_support::RunCase;
using testing_support::RunTool;
using testing_support::TempFolder;
using testing_support::ToolPath;
using testing_support::ToolResult;
using testing_support::WriteFile;

constexpr char kOperators[] = R"([
  {"op": "TanhCustom",
   "input_desc": [{"name": "x", "format": ["ND"], "type": ["float"]}],
   "output_desc": [{"name": "y", "format": ["ND"], "type": ["float"]}]},
  {"op": "ReduceMeanCustom",
   "input_desc": [{"name": "x", "format": ["ND"], "type": ["float"]}],
   "output_desc": [{"name": "y", "format": ["ND"], "type": ["float"]}],
   "attr": [{"name": "axes", "param_type": "optional", "type": "list_int", "default_value": [2]},
            {"name": "keepdims", "param_type": "optional", "type": "bool", "default_value": false}]}
])";

constexpr char kOwn[] = R"(    - flatten
    - {linear: {out: 12}}
    - {op: {domain: com.example, type: TanhCustom}}
    - {reshape: {shape: [0, 4, 3]}}
    - {op: {domain: com.example, type: ReduceMeanCustom, attrs: {axes: [-1]}}}
)";
constexpr char kComposed[] = R"(    - flatten
    - {linear: {out: 12}}
    - tanh
    - {reshape: {shape: [0, 4, 3]}}
    - {op: {type: ReduceMean, attrs: {keepdims: 0}, constants: {axes: [2]}}}
)";

// One project for all tests of this program.
class GeneratedOperators : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TempFolder();
    WriteFile(*folder_ / "ops.json", kOperators);
    const std::string project = *folder_ / "own";
    const ToolResult made = RunTool({"msopgen", "gen", "-i", *folder_ / "ops.json", "-c", "cpu,npu", "-out", project});
    ASSERT_EQ(made.exit_code, 0) << made.err;
    const std::string log = *folder_ / "log";
    const std::string build = "cmake -S '" + project + "' -B '" + project + "/build' >'" + log +
                              "' 2>&1 && cmake --build '" + project + "/build' --target own >'" + log + "' 2>&1";
    built_ = std::system(build.c_str()) == 0;
    ASSERT_TRUE(built_) << ReadFile(log);
  }
  static void TearDownTestSuite() { delete folder_; }

  static std::string Sections(const std::string& layers, const std::string& mode, const std::string& device) {
    return "mode: " + mode + "\ndevice: " + device + "\nplugins:\n  trust: off\n  load:\n    - {path: " +
           ToolPath("../lib/tenon/plugins/device_" + device + ".so") +
           "}\n    - {path: " + (*folder_ / "own/build/own.so") + "}\n" + R"(
data: {type: synthetic, samples: 40, classes: 4, image: {shape: [1, 2, 3]}, batch: 8}
optimizer: {type: sgd, lr: 0.2}
train: {epochs: 3}
network:
  layers:
)" + layers;
  }
  static std::vector<double> Losses(const std::string& layers, const std::string& mode, const std::string& device) {
    const RunCase run(Sections(layers, mode, device));
    const ToolResult result = run.Train();
    EXPECT_EQ(result.exit_code, 0) << mode << " " << device << "\n" << result.err;
    return result.exit_code == 0 ? run.Summary().at("train_loss").get<std::vector<double>>() : std::vector<double>();
  }

  static TempFolder* folder_;
  static bool built_;
};
TempFolder* GeneratedOperators::folder_ = nullptr;
bool GeneratedOperators::built_ = false;

TEST_F(GeneratedOperators, TrainLikeTheirDefinition) {
  const std::vector<double> expected = Losses(kComposed, "graph", "cpu");
  ASSERT_EQ(expected.size(), 3U);
  EXPECT_LT(expected.back(), expected.front());
  for (const char* device : {"cpu", "npu"}) {
    for (const char* mode : {"graph", "pynative"}) {
      const std::vector<double> losses = Losses(kOwn, mode, device);
      ASSERT_EQ(losses.size(), 3U) << mode << " " << device;
      for (std::size_t i = 0; i < losses.size(); ++i) {
        EXPECT_NEAR(losses[i], expected[i], 1e-4) << mode << " " << device << " epoch " << i;
      }
    }
  }
}

TEST_F(GeneratedOperators, AreListedAndChecked) {
  const ToolResult check = RunTool({"tenon", "plugin", "check", *folder_ / "own/build/own.so"});
  EXPECT_EQ(check.exit_code, 0) << check.out << check.err;
  const RunCase wrong(Sections("    - flatten\n    - {op: {domain: com.example, type: TanhCustom, attrs: {axis: 1}}}\n",
                               "graph", "cpu"));
  const ToolResult result = wrong.Train();
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.err.find("'axis'"), std::string::npos) << result.err;
}

}  // namespace
}  // namespace tenon
