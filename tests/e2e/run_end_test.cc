// What a run says of itself when it has ended: steps that were skipped, and a run that trained nothing.
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <thread>

#include "tests/e2e/run_case.h"

namespace tenon {
namespace {

using testing_support::ReadFile;
using testing_support::RunCase;
using testing_support::ToolProcess;
using testing_support::ToolResult;

constexpr const char* kData =
    "data: {type: synthetic, samples: 30, classes: 3, image: {shape: [1, 4, 4]}, batch: 10}\ntrain: {epochs: 2}\n";
// The constant is infinite in float16.
constexpr const char* kOverflows =
    "network: {layers: [flatten, {op: {type: Mul, constants: {B: 1.0e+30}}}, {linear: {out: 3}}]}\n"
    "amp: {level: O3, dtype: fp16, loss_scale: 1}\n";
constexpr const char* kMlp = "network: {layers: [flatten, {linear: {out: 3}}]}\n";

TEST(RunEnd, ARunThatSkippedEveryStepHasFailed) {
  for (const char* mode : {"mode=graph", "mode=pynative"}) {
    const RunCase run(kData + std::string(kOverflows));
    const ToolResult result = run.Train({mode});
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_NE(result.err.find("Nothing was trained: the loss or a gradient was not finite in each of the 6 steps"),
              std::string::npos)
        << result.err;
    const auto summary = run.Summary();
    EXPECT_EQ(summary.at("status"), "failed");
    EXPECT_EQ(summary.at("skipped_steps"), 6);
    ASSERT_EQ(summary.at("train_loss").size(), 2U);
    EXPECT_TRUE(summary.at("train_loss")[0].is_null());
  }
}

// The scale of float16's default, 2^24, is too large for the first steps; it comes down by half each time.
TEST(RunEnd, SkippedStepsAreTold) {
  const RunCase run(kData + std::string(kMlp) + "amp: fp16\n");
  const ToolResult result = run.Train({"train.epochs=20"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const std::int64_t skipped = run.Summary().at("skipped_steps");
  ASSERT_GT(skipped, 0);
  const std::string told = std::to_string(skipped) + " of 60 steps were skipped";
  EXPECT_NE(result.err.find(told), std::string::npos) << result.err;
  EXPECT_NE(result.out.find("60 steps (" + std::to_string(skipped) + " skipped)"), std::string::npos) << result.out;
  EXPECT_NE(run.Summary().at("warnings").dump().find(told), std::string::npos);
  EXPECT_NE(ReadFile(run.output() + "/log.txt").find(told), std::string::npos);
}

// A step that is skipped has still seen its batch: running statistics move, as they do where each operator runs when it is
// reached, and only parameters stay.
TEST(RunEnd, SkippedStepsKeepTheirStatistics) {
  const RunCase graph(kData + std::string("network: {layers: [{conv: {out: 4, kernel: 3}}, batch_norm, relu, flatten, "
                                          "{linear: {out: 3}}]}\namp: fp16\n"));
  const RunCase pynative(kData +
                         std::string("network: {layers: [{conv: {out: 4, kernel: 3}}, batch_norm, relu, flatten, "
                                     "{linear: {out: 3}}]}\namp: fp16\n"));
  ASSERT_EQ(graph.Train({"data.split.test=every_3", "train.epochs=12"}).exit_code, 0);
  ASSERT_EQ(pynative.Train({"data.split.test=every_3", "train.epochs=12", "mode=pynative"}).exit_code, 0);
  ASSERT_GT(graph.Summary().at("skipped_steps"), 0);
  EXPECT_EQ(graph.Summary().at("skipped_steps"), pynative.Summary().at("skipped_steps"));
  EXPECT_NEAR(graph.Summary().at("test_loss").get<double>(), pynative.Summary().at("test_loss").get<double>(), 2e-3);
}

// A folder belongs to one run until its process ends, however it ends.
TEST(RunEnd, ASecondRunInTheFolderIsRefused) {
  const RunCase run(kData + std::string(kMlp));
  ToolProcess first(run.Words({"train.epochs=100000000", "checkpoint.every=100000000"}));
  const std::string metrics = run.output() + "/metrics.jsonl";
  while (first.Running() && !std::filesystem::exists(metrics))
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  for (const std::vector<std::string>& flags : {std::vector<std::string>{}, {"--resume"}}) {
    const ToolResult second = run.Train({}, flags);
    EXPECT_EQ(second.exit_code, 2);
    EXPECT_NE(second.err.find("is in use: another run (process " + std::to_string(first.id()) + ") that has not ended"),
              std::string::npos)
        << second.err;
  }
  EXPECT_FALSE(std::filesystem::exists(run.output() + ".1"));
  first.Signal(SIGKILL);
  first.Wait();
  EXPECT_EQ(run.Train().exit_code, 0);
}

}  // namespace
}  // namespace tenon
