// A kernel that fails, throws or runs out of memory at its third call ends the run, not the process; another session of
// the same process is not affected.
#include <gtest/gtest.h>

#include "core/exec/runtime.h"
#include "core/train/network.h"
#include "core/train/step_runner.h"
#include "tests/e2e/run_case.h"
#include "tests/support/plugin_fixtures.h"

namespace tenon {
namespace {

using testing_support::FixtureFile;
using testing_support::RunCase;
using testing_support::ToolPath;
using testing_support::ToolResult;

std::string Sections(const std::string& layer, const std::string& fail, const std::string& mode) {
  return "mode: " + mode +
         "\nplugins:\n  trust: off\n  load:\n    - {path: " + ToolPath("../lib/tenon/plugins/device_cpu.so") +
         "}\n    - {path: " + FixtureFile("failing_kernel") + ", options: {fail: " + fail + "}}\n" + R"(
data: {type: synthetic, samples: 40, classes: 4, image: {shape: [1, 2, 3]}, batch: 4}
network: {layers: [flatten, {linear: {out: 5}}, {)" +
         layer + R"(: {name: act}}, {linear: {out: 4}}]}
)";
}

void ExpectFailure(const std::string& layer, const std::string& fail, const std::string& op, const std::string& message,
                   const std::vector<std::string>& modes = {"graph", "pynative"}) {
  for (const std::string& mode : modes) {
    const RunCase run(Sections(layer, fail, mode));
    const ToolResult result = run.Train();
    EXPECT_EQ(result.exit_code, 1) << mode << "\n" << result.err;
    for (const std::string& part : {std::string("'act'"), "(" + op + ")", std::string("failing_kernel.so"), message})
      EXPECT_NE(result.err.find(part), std::string::npos) << mode << ": " << part << " in\n" << result.err;
    EXPECT_EQ(result.err.rfind(run.config() + ":", 0), 0U) << mode << "\n" << result.err;
    EXPECT_EQ(run.Summary().at("status"), "failed");
  }
}

TEST(FailingKernel, WorksUntilItFails) {
  EXPECT_EQ(RunCase(Sections("tanh", "never", "graph")).Train().exit_code, 0);
  EXPECT_EQ(RunCase(Sections("sigmoid", "never", "graph")).Train().exit_code, 0);
}
TEST(FailingKernel, ReturnsAnError) { ExpectFailure("tanh", "status", "Tanh", "worn out after 3 calls"); }
TEST(FailingKernel, ThrowsAnException) { ExpectFailure("tanh", "exception", "Tanh", "the table of tanh is gone"); }
TEST(FailingKernel, ThrowsAnObject) { ExpectFailure("tanh", "object", "Tanh", "exception"); }
TEST(FailingKernel, FailsAnAllocation) { ExpectFailure("tanh", "memory", "Tanh", "memory"); }
TEST(FailingKernel, LetsAnExceptionOut) {
  ExpectFailure("sigmoid", "exception", "Sigmoid", "the table of sigmoid is gone", {"graph"});
}
TEST(FailingKernel, LetsAnObjectOut) { ExpectFailure("sigmoid", "object", "Sigmoid", "no std::exception", {"graph"}); }

// y = a; z = exp(y) by a kernel that may work in place; w = y z: what y was is needed by w, and by the gradient of Tanh or
// of the product, in whichever order its readers stand.
TEST(InPlaceKernel, KeepsWhatOthersRead) {
  const std::string orders[] = {
      "{linear: {out: 4, name: y}}, {op: {type: Exp, name: z, input: y}}, {mul: {input: [y, z]}}",
      "{linear: {out: 4, name: y}}, {tanh: {name: u, input: y}}, {op: {type: Exp, name: z, input: y}}, {mul: {input: "
      "[u, z]}}",
      "{linear: {out: 4, name: y}}, {op: {type: Exp, name: z, input: y}}, {tanh: {name: u, input: y}}, {mul: {input: "
      "[u, z]}}",
      "{linear: {out: 4}}, {tanh: {name: y}}, {op: {type: Exp, name: z, input: y}}, {add: {input: [z, z]}}"};
  const std::string cpu =
      "plugins:\n  trust: off\n  load:\n    - {path: " + ToolPath("../lib/tenon/plugins/device_cpu.so") + "}\n";
  const std::string fixture = "    - {path: " + FixtureFile("failing_kernel") + "}\n";
  for (const std::string& layers : orders) {
    const std::string rest =
        "data: {type: synthetic, samples: 40, classes: 4, image: {shape: [1, 2, 3]}, batch: 8}\nnetwork: {layers: "
        "[flatten, " +
        layers + "]}\ntrain: {epochs: 3}\n";
    const RunCase with(cpu + fixture + rest), without(cpu + rest);
    const ToolResult first = with.Train(), second = without.Train();
    ASSERT_EQ(first.exit_code, 0) << layers << first.err;
    ASSERT_EQ(second.exit_code, 0) << layers << second.err;
    EXPECT_NEAR(with.Summary().at("train_loss").back().get<double>(),
                without.Summary().at("train_loss").back().get<double>(), 1e-5)
        << layers;
  }
}

class Session {
 public:
  explicit Session(const std::string& fail) {
    auto tree = LoadConfigText("name: s\n" + Sections("tanh", fail, "graph"), "test", ".");
    config_ = *ReadRunConfig(*tree);
    exec::RuntimeOptions options;
    options.plugins = config_.plugins;
    auto runtime = exec::Runtime::Open(options);
    EXPECT_TRUE(runtime.ok()) << runtime.status().ToString();
    runtime_ = std::move(runtime).value();
    network_ = std::make_unique<Network>(*Network::Make(config_.network));
    StepRunnerOptions runner;
    runner.config = &config_;
    runner.layout.shape = Shape{1, 2, 3};
    runner_ = MakeStepRunner(*runtime_, *network_, runner);
    batch_.count = 4;
    batch_.samples = Tensor(DType::kF32, Shape{4, 1, 2, 3});
    batch_.labels = Tensor(DType::kI64, Shape{4});
    for (std::int64_t i = 0; i < 24; ++i) batch_.samples.data<float>()[i] = static_cast<float>(i % 5) - 2.0F;
  }
  Result<double> Step(std::int64_t step) { return runner_->Train(batch_, 0.1, step); }

 private:
  RunConfig config_;
  std::unique_ptr<exec::Runtime> runtime_;
  std::unique_ptr<Network> network_;
  std::unique_ptr<StepRunner> runner_;
  Batch batch_;
};

TEST(FailingKernel, LeavesAnotherSessionAlone) {
  std::vector<double> alone;
  {
    Session session("never");
    for (std::int64_t step = 0; step < 5; ++step) alone.push_back(*session.Step(step));
  }
  Session failing("exception"), sound("never");
  for (std::int64_t step = 0; step < 5; ++step) {
    const auto broken = failing.Step(step);
    EXPECT_EQ(broken.ok(), step != 2);
    const auto fine = sound.Step(step);
    ASSERT_TRUE(fine.ok()) << fine.status().ToString();
    EXPECT_EQ(*fine, alone[static_cast<std::size_t>(step)]);
  }
}

}  // namespace
}  // namespace tenon
