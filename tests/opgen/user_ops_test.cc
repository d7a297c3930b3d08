// Operators as a user writes them: a project of user/ops.json, filled in by the patches beside it (an elementwise operator,
// a reduction, a stencil and a matrix product), then its own tests, and networks that train with all four.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <map>

#include "core/api/tenon.h"
#include "tests/e2e/run_case.h"

namespace tenon {
namespace {

using testing_support::ReadFile;
using testing_support::RunCase;
using testing_support::RunTool;
using testing_support::TempFolder;
using testing_support::ToolPath;
using testing_support::ToolResult;

const std::string kFolder = std::string(TENON_SOURCE_DIR) + "/tests/opgen/user/";
constexpr const char* kDevices[] = {"cpu", "npu"};
constexpr const char* kModes[] = {"graph", "pynative"};

constexpr char kNetwork[] = R"(network:
  layers:
    - {conv: {out: 3, kernel: 3, pad: 1}}
    - {op: {domain: com.example, type: Diffuse, attrs: {rate: 0.15}}}
    - {op: {domain: com.example, type: Snake, attrs: {alpha: 1.5}, name: waves}}
    - {op: {domain: com.example, type: PowerMean, attrs: {axes: [-1], keepdims: false, power: 2.5}}}
    - {flatten: {name: means}}
    - {flatten: {input: waves, name: flat}}
    - {concat: {input: [means, flat], name: features}}
    - {parameter: {shape: [10, 126], init: {uniform: 0.2}, name: weight}}
    - {parameter: {shape: [10], name: shift}}
    - {op: {domain: com.example, type: ShiftedMatMul, attrs: {transpose_weight: true}, input: [features, weight, shift]}}
    - tanh
    - {linear: {out: 4}}
)";

std::string Plugin(const std::string& name) { return ToolPath("../lib/tenon/plugins/" + name + ".so"); }

// One project for all tests of this program.
class UserOperators : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TempFolder();
    const std::string project = *folder_ / "user_ops", log = *folder_ / "log";
    const ToolResult made = RunTool({"msopgen", "gen", "-i", kFolder + "ops.json", "-c", "cpu,npu", "-out", project});
    ASSERT_EQ(made.exit_code, 0) << made.err;
    std::string work = "cd '" + project + "'";
    for (const char* op : {"snake", "power_mean", "diffuse", "shifted_mat_mul"})
      work += " && patch -p1 --batch --no-backup-if-mismatch -i '" + kFolder + op + ".patch'";
    work += " && cmake -S . -B build -DTENON_WERROR=ON && cmake --build build --parallel 2";
    built_ = std::system(("(" + work + ") >'" + log + "' 2>&1").c_str()) == 0;
    ASSERT_TRUE(built_) << ReadFile(log);
  }
  static void TearDownTestSuite() { delete folder_; }
  void SetUp() override { ASSERT_TRUE(built_); }

  static std::string library() { return *folder_ / "user_ops/build/user_ops.so"; }

  static TempFolder* folder_;
  static bool built_;
};
TempFolder* UserOperators::folder_ = nullptr;
bool UserOperators::built_ = false;

// Numbers, shapes, and gradients against difference quotients, by what the patches say in tests/.
TEST_F(UserOperators, PassTheirOwnTests) {
  const std::string project = *folder_ / "user_ops";
  const ToolResult result = RunTool({"msopgen", "test", project, "-out", *folder_ / "report"});
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
  EXPECT_EQ(result.out.find("NOTE"), std::string::npos) << result.out;
  const auto report = nlohmann::json::parse(ReadFile(*folder_ / "report/st_report.json"));
  ASSERT_EQ(report.size(), 4U);
  for (const auto& op : report) {
    EXPECT_GT(op.at("passed"), 0) << op;
    EXPECT_EQ(op.at("failed"), 0) << op;
  }
}

TEST_F(UserOperators, TrainFromAFile) {
  std::vector<double> first;
  for (const char* device : kDevices) {
    for (const char* mode : kModes) {
      const RunCase run("mode: " + std::string(mode) + "\ndevice: " + device +
                        "\nplugins:\n  trust: off\n  load:\n    - {path: " + Plugin("device_" + std::string(device)) +
                        "}\n    - {path: " + library() + "}\n" +
                        "data: {type: synthetic, samples: 64, classes: 4, image: {shape: [1, 8, 8]}, batch: 16}\n" +
                        "optimizer: {type: adam, lr: 0.02}\ntrain: {epochs: 8}\n" + kNetwork);
      const ToolResult result = run.Train();
      ASSERT_EQ(result.exit_code, 0) << device << " " << mode << "\n" << result.err;
      const auto losses = run.Summary().at("train_loss").get<std::vector<double>>();
      ASSERT_EQ(losses.size(), 8U);
      EXPECT_LT(losses.back(), 0.8 * losses.front()) << device << " " << mode;
      if (first.empty()) first = losses;
      for (std::size_t i = 0; i < losses.size(); ++i)
        EXPECT_NEAR(losses[i], first[i], 1e-3) << device << " " << mode << " epoch " << i;
      for (const char* op : {"Diffuse", "Snake", "PowerMean", "ShiftedMatMul"}) {
        for (const char* side : {"", "Grad"}) {
          const std::string name = std::string("com.example.") + op + side;
          EXPECT_TRUE(run.Summary().at("kernels").contains(name)) << device << " " << mode << " " << name;
        }
      }
    }
  }
}

// ---- the gradient of the whole network against differences of its loss

using Floats = std::vector<float>;

// Numbers in (-1, 1) that look like noise and are the same everywhere.
Floats Noise(std::int64_t count, unsigned seed) {
  Floats values;
  for (std::int64_t i = 0; i < count; ++i) {
    seed = seed * 1664525U + 1013904223U;
    values.push_back(static_cast<float>(seed >> 8) / 8388608.0f - 1.0f);
  }
  return values;
}

class SlopeCheck {
 public:
  SlopeCheck(const std::string& device, const std::string& mode, const std::string& library)
      : runtime_(Options(device, library)),
        network_(api::Network::FromText(runtime_, "mode: " + mode + "\noptimizer: {type: sgd, lr: 0.1}\n" + kNetwork)) {
    samples_ = api::Tensor::Of(runtime_, {8, 1, 8, 8}, Noise(8 * 64, 5));
    labels_ = api::Tensor::Of<std::int64_t>(runtime_, {8}, {0, 1, 2, 3, 3, 2, 1, 0});
    network_.Prepare(api::DType::kF32, {1, 8, 8});
    for (const std::string& name : network_.ParameterNames()) {
      const api::Tensor value = network_.Parameter(name);
      start_[name] = value.Values<float>();
      shapes_[name] = value.shape();
    }
  }

  void Run() {
    // A step of plain descent with rate 1 moves each parameter by its negative gradient.
    network_.TrainStep(samples_, labels_, 1.0);
    std::map<std::string, Floats> gradients;
    for (const auto& [name, values] : start_) {
      const Floats moved = network_.Parameter(name).Values<float>();
      for (std::size_t i = 0; i < values.size(); ++i) gradients[name].push_back(values[i] - moved[i]);
    }
    for (const auto& entry : start_) network_.SetParameter(entry.first, Of(entry.first, entry.second));
    for (const auto& [name, gradient] : gradients) {
      Check(name, gradient, gradient);
      for (const unsigned seed : {1U, 2U, 3U})
        Check(name, gradient, Noise(static_cast<std::int64_t>(gradient.size()), seed));
    }
  }

 private:
  static api::RuntimeOptions Options(const std::string& device, const std::string& library) {
    api::RuntimeOptions options;
    options.plugins = {Plugin("device_" + device), library};
    options.device = device;
    return options;
  }
  api::Tensor Of(const std::string& name, const Floats& values) {
    return api::Tensor::Of(runtime_, shapes_.at(name), values);
  }

  // The slope of the loss along a direction of one parameter.
  void Check(const std::string& name, const Floats& gradient, const Floats& direction) {
    double length = 0, expected = 0;
    for (std::size_t i = 0; i < direction.size(); ++i) {
      length += static_cast<double>(direction[i]) * static_cast<double>(direction[i]);
      expected += static_cast<double>(direction[i]) * static_cast<double>(gradient[i]);
    }
    length = std::sqrt(length);
    ASSERT_GT(length, 0) << name << " has no gradient";
    constexpr double kStep = 4e-3;
    double loss[2];
    for (const int side : {0, 1}) {
      Floats moved = start_.at(name);
      const double step = (side == 0 ? -kStep : kStep) / length;
      for (std::size_t i = 0; i < moved.size(); ++i)
        moved[i] += static_cast<float>(step * static_cast<double>(direction[i]));
      network_.SetParameter(name, Of(name, moved));
      loss[side] = network_.TrainStep(samples_, labels_, 0.0);
    }
    network_.SetParameter(name, Of(name, start_.at(name)));
    const double slope = (loss[1] - loss[0]) / (2 * kStep);
    EXPECT_NEAR(slope, expected / length, 2e-3 + 1e-2 * std::abs(slope)) << name;
  }

  api::Runtime runtime_;
  api::Network network_;
  api::Tensor samples_, labels_;
  std::map<std::string, Floats> start_;
  std::map<std::string, api::Shape> shapes_;
};

TEST_F(UserOperators, HaveTheGradientOfTheirNetwork) {
  for (const char* device : kDevices) {
    for (const char* mode : kModes) {
      SCOPED_TRACE(std::string(device) + " " + mode);
      SlopeCheck(device, mode, library()).Run();
    }
  }
}

}  // namespace
}  // namespace tenon
