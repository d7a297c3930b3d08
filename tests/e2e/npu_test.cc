// Runs on a device whose memory the host cannot follow and whose streams run on threads: they give what the CPU gives, in
// both modes and with everything that a run can ask for; what the device lacks runs on the host when that is allowed; and
// each fault that can be injected ends as it should. Expected values are those of the same run on the CPU.
#include <gtest/gtest.h>

#include "tests/e2e/run_case.h"

namespace tenon {
namespace {

using testing_support::ExpectClose;
using testing_support::LoggedNumbers;
using testing_support::ReadFile;
using testing_support::RunCase;
using testing_support::RunTool;
using testing_support::TempFolder;
using testing_support::ToolResult;
using Names = std::vector<std::string>;

// Convolution with running statistics, dropout, matrices wider than a tile and no multiple of one, two moments.
constexpr const char* kNetwork = R"(
data: {type: synthetic, samples: 100, classes: 4, image: {shape: [2, 8, 8]}, split: {test: every_5}, batch: 16}
network:
  layers:
    - conv: {out: 5, kernel: 3, pad: 1}
    - batch_norm
    - relu
    - max_pool: {kernel: 2}
    - flatten
    - linear: {out: 37}
    - layer_norm
    - gelu
    - dropout: {ratio: 0.25}
    - linear: {out: 4}
optimizer: {type: adam, lr: 0.002, eps: 1e-4}
train: {epochs: 3}
log: {every: 1}
)";

Names With(Names settings, const std::string& more) {
  settings.push_back(more);
  return settings;
}

// Losses of all steps and evaluations.
std::vector<double> Losses(const std::string& folder) { return LoggedNumbers(folder, {"loss", "test_loss"}); }

void ExpectTrainsAsTheCpu(const Names& settings, double tolerance = 1e-4) {
  const RunCase npu(kNetwork), cpu(kNetwork);
  const ToolResult on_npu = npu.Train(With(settings, "device=npu")), on_cpu = cpu.Train(settings);
  ASSERT_EQ(on_npu.exit_code, 0) << on_npu.err;
  ASSERT_EQ(on_cpu.exit_code, 0) << on_cpu.err;
  ExpectClose(Losses(npu.output()), Losses(cpu.output()), tolerance);
  const auto summary = npu.Summary();
  EXPECT_EQ(summary.at("fallbacks").size(), 0u);
  for (const auto& kernel : summary.at("kernels").items()) EXPECT_EQ(kernel.value().at("reference"), 0) << kernel.key();
}

TEST(Npu, TrainsAsTheCpu) { ExpectTrainsAsTheCpu({}); }
TEST(Npu, OperatorByOperator) { ExpectTrainsAsTheCpu({"mode=pynative"}); }
TEST(Npu, WithSumsClippingAndAverages) {
  for (const char* mode : {"mode=graph", "mode=pynative"})
    ExpectTrainsAsTheCpu({mode, "train.accumulate=2", "train.clip_norm=0.5", "train.ema=0.9"});
}
TEST(Npu, WithAdamWAndClippedValues) {
  ExpectTrainsAsTheCpu({"optimizer.type=adamw", "optimizer.weight_decay=0.05", "train.clip_value=0.01"});
}
TEST(Npu, WithMomentumAndOnTwoThreads) {
  ExpectTrainsAsTheCpu({"threads=2", "optimizer={type: sgd, lr: 0.02, momentum: 0.9, nesterov: true}"});
}
// The rounding of 16-bit results differs where sums come in another order. The scale of the loss is one without overflows.
TEST(Npu, InLowPrecision) {
  for (const char* mode : {"mode=graph", "mode=pynative"}) {
    ExpectTrainsAsTheCpu({mode, "amp={level: O2, dtype: bf16}"}, 3e-2);
    ExpectTrainsAsTheCpu({mode, "amp={level: O2, dtype: fp16, loss_scale: 128}"}, 1e-2);
  }
}

TEST(Npu, GoesOnWithTheSameBits) {
  for (const char* mode : {"mode=graph", "mode=pynative"}) {
    const RunCase straight(kNetwork), halves(kNetwork);
    const Names settings = {mode, "device=npu", "schedule.type=constant"};
    ASSERT_EQ(straight.Train(With(settings, "train.epochs=4")).exit_code, 0);
    ASSERT_EQ(halves.Train(With(settings, "train.epochs=2")).exit_code, 0);
    const ToolResult second = halves.Train(With(settings, "train.epochs=4"), {"--resume"});
    ASSERT_EQ(second.exit_code, 0) << second.err;
    ASSERT_FALSE(straight.Checkpoint("4_5").empty());
    EXPECT_EQ(straight.Checkpoint("4_5"), halves.Checkpoint("4_5"));
  }
}

TEST(Npu, TheSummaryTellsTheCopies) {
  const RunCase run(kNetwork);
  ASSERT_EQ(run.Train({"device=npu"}).exit_code, 0);
  const auto copies = run.Summary().at("copies");
  ASSERT_EQ(copies.size(), 2u);
  EXPECT_EQ(copies[0].at("from"), "host");
  EXPECT_EQ(copies[0].at("to"), "npu");
  EXPECT_EQ(copies[1].at("from"), "npu");
  EXPECT_EQ(copies[1].at("to"), "host");
  for (const auto& copy : copies) {
    EXPECT_GE(copy.at("count"), 15);  // a batch, its labels and a loss each step
    EXPECT_GT(copy.at("mb"), 0.0);
  }
  const RunCase cpu(kNetwork);
  ASSERT_EQ(cpu.Train().exit_code, 0);
  EXPECT_EQ(cpu.Summary().at("copies").size(), 0u);
}

// The digits, as a user would run them.
// The images are enlarged, so that values of a pool differ by a rounding here and there: then another one may win, and from there
// on the two runs are two of many.
TEST(Npu, LearnsTheDigitsAsTheCpuDoes) {
  constexpr std::size_t kSteps = 40;
  const TempFolder folder;
  for (const std::string device : {"cpu", "npu"}) {
    const ToolResult result = RunTool({"tenon", "train", "configs/train/lenet_digits.yaml", "--set", "device=" + device,
                                       "--set", "train.epochs=4", "--set", "log.every=1", "--output", folder / device});
    ASSERT_EQ(result.exit_code, 0) << result.err;
  }
  const auto first_losses = [&](const char* device) {
    std::vector<double> losses = LoggedNumbers(folder / device, {"loss"});
    EXPECT_GT(losses.size(), kSteps);
    losses.resize(kSteps);
    return losses;
  };
  ExpectClose(first_losses("npu"), first_losses("cpu"), 1e-4);
  const auto accuracy = [&](const std::string& device) {
    return nlohmann::json::parse(ReadFile(folder / device + "/summary.json")).at("test_accuracy").get<double>();
  };
  EXPECT_NEAR(accuracy("npu"), accuracy("cpu"), 0.0141);  // five of 359 digits
  EXPECT_GT(accuracy("npu"), 0.9);
}

TEST(Npu, ResidualNetworkRuns) {
  const TempFolder folder;
  const ToolResult result = RunTool(
      {"tenon", "train", "configs/train/resnet18_npu.yaml", "--set", "train.steps=2", "--output", folder / "run"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto summary = nlohmann::json::parse(ReadFile(folder / "run" + "/summary.json"));
  EXPECT_EQ(summary.at("fallbacks").size(), 0u);
}

// ---- fallback

// CumSum is an operator without a kernel there.
constexpr const char* kLacking = R"(
data: {type: synthetic, samples: 40, classes: 3, image: {shape: [1, 4, 4]}, batch: 10}
network:
  layers:
    - flatten
    - linear: {out: 8}
    - op: {type: CumSum, constants: {axis: 1}, name: sums}
    - linear: {out: 3}
train: {epochs: 2}
log: {every: 1}
)";

TEST(NpuFallback, IsAnErrorUnlessItIsAllowed) {
  const RunCase run(kLacking);
  const ToolResult result = run.Train({"device=npu"});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_NE(result.err.find("Device 'npu' cannot run operator CumSum: no plugin offers a kernel for device kind 'npu'. "
                            "With 'fallback: warn' or 'allow' it runs on the host."),
            std::string::npos)
      << result.err;
  EXPECT_NE(result.err.find("'sums' (CumSum)"), std::string::npos) << result.err;
}

TEST(NpuFallback, RunsOnTheHostAndIsTold) {
  const RunCase cpu(kLacking);
  ASSERT_EQ(cpu.Train().exit_code, 0);
  for (const std::string mode : {"graph", "pynative"}) {
    for (const std::string policy : {"allow", "warn"}) {
      const RunCase run(kLacking);
      const ToolResult result = run.Train({"device=npu", "mode=" + mode, "fallback=" + policy});
      ASSERT_EQ(result.exit_code, 0) << result.err;
      ExpectClose(Losses(run.output()), Losses(cpu.output()), 1e-4);
      const auto summary = run.Summary();
      const auto fallbacks = summary.at("fallbacks");
      ASSERT_GE(fallbacks.size(), 1u);
      EXPECT_EQ(fallbacks[0].at("node"), "sums");
      EXPECT_EQ(fallbacks[0].at("op"), "CumSum");
      EXPECT_EQ(fallbacks[0].at("device"), "host");
      EXPECT_EQ(fallbacks[0].at("reason"), "no plugin offers a kernel for device kind 'npu'");
      EXPECT_EQ(summary.at("kernels").at("CumSum").at("fast"), 0);
      EXPECT_EQ(summary.at("warnings").size(), policy == "warn" ? 1u : 0u);
      EXPECT_EQ(result.err.find("runs on the host") != std::string::npos, policy == "warn") << result.err;
    }
  }
}

// ---- faults

std::string Options(const std::string& options) {
  return std::string(kNetwork) + "device: npu\nplugins: {load: [{name: device_npu, options: {" + options + "}}]}\n";
}

TEST(NpuFaults, ALostDeviceEndsTheRun) {
  for (const char* mode : {"mode=graph", "mode=pynative"}) {
    for (const char* call : {"1", "7", "150", "600"}) {
      const RunCase run(Options("faults: {lost_at_call: " + std::string(call) + "}"));
      const ToolResult result = run.Train({mode});
      EXPECT_EQ(result.exit_code, 1) << result.err;
      EXPECT_NE(result.err.find("The device was lost at call " + std::string(call)), std::string::npos) << result.err;
    }
  }
}

TEST(NpuFaults, TooLittleMemoryIsToldWithTheNumbers) {
  for (const char* options :
       {"memory_mb: 1, faults: {out_of_memory_bytes: 100000}", "faults: {out_of_memory_bytes: 500}"}) {
    const RunCase run(Options(options));
    const ToolResult result = run.Train();
    EXPECT_EQ(result.exit_code, 1) << result.err;
    EXPECT_NE(result.err.find("Cannot allocate"), std::string::npos) << result.err;
    EXPECT_NE(result.err.find("of device memory"), std::string::npos) << result.err;
  }
}

TEST(NpuFaults, SlowCopiesAndLateCompletionsOnlyTakeLonger) {
  const RunCase plain(Options("memory_mb: 64"));
  ASSERT_EQ(plain.Train().exit_code, 0);
  for (const char* options : {"faults: {slow_copy_ms_per_mb: 20}", "faults: {late_completion_ms: 2}"}) {
    const RunCase run(Options(options));
    const ToolResult result = run.Train();
    ASSERT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(Losses(run.output()), Losses(plain.output()));
  }
}

TEST(NpuFaults, AnUnknownOptionListsTheKnownOnes) {
  const RunCase run(Options("faults: {lost_at_cal: 3}"));
  const ToolResult result = run.Train();
  EXPECT_NE(result.exit_code, 0);
  EXPECT_NE(
      result.err.find("does not know the option 'faults.lost_at_cal'. Did you mean 'faults.lost_at_call'? It knows "
                      "devices, memory_mb, copy_engines, faults.lost_at_call,"),
      std::string::npos)
      << result.err;
}

}  // namespace
}  // namespace tenon
