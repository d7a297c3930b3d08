// A run that stops and goes on ends with the same bits as one that never stopped, and one that does not fit its checkpoint
// is refused.
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <thread>

#include "tests/e2e/run_case.h"

namespace tenon {
namespace {

namespace fs = std::filesystem;
using testing_support::RunCase;
using testing_support::ToolProcess;
using testing_support::ToolResult;

// Shuffled batches with a partial last one, dropout, running statistics and two moments: everything that a run carries.
constexpr const char* kSections = R"(
data: {type: synthetic, samples: 250, classes: 4, image: {shape: [1, 6, 6]}, split: {test: every_5}, batch: 16}
network:
  layers:
    - conv: {out: 4, kernel: 3}
    - batch_norm
    - relu
    - flatten
    - dropout: {ratio: 0.25}
    - linear: {out: 4}
optimizer: {type: adam, lr: 0.002}
)";

void ExpectResumesTheSame(const std::vector<std::string>& settings) {
  const RunCase straight(kSections), halves(kSections);
  auto four = settings, two = settings;
  four.push_back("train.epochs=4");
  two.push_back("train.epochs=2");
  ASSERT_EQ(straight.Train(four).exit_code, 0);
  ASSERT_EQ(halves.Train(two).exit_code, 0);
  const ToolResult second = halves.Train(four, {"--resume"});
  ASSERT_EQ(second.exit_code, 0) << second.err;
  EXPECT_NE(second.out.find("Resumed from"), std::string::npos) << second.out;
  ASSERT_FALSE(straight.Checkpoint("4_13").empty());
  EXPECT_EQ(straight.Checkpoint("4_13"), halves.Checkpoint("4_13"));
  EXPECT_EQ(straight.Summary().at("weights_sha256"), halves.Summary().at("weights_sha256"));
  EXPECT_EQ(straight.Summary().at("test_loss"), halves.Summary().at("test_loss"));
}

TEST(Resume, TwoAndTwoEpochsAreFour) { ExpectResumesTheSame({"schedule.type=constant"}); }
TEST(Resume, WithMomentum) {
  ExpectResumesTheSame({"optimizer.type=sgd", "optimizer.momentum=0.9", "optimizer.lr=0.05"});
}
TEST(Resume, OperatorByOperator) { ExpectResumesTheSame({"mode=pynative"}); }
TEST(Resume, OnTwoThreads) { ExpectResumesTheSame({"threads=2"}); }
TEST(Resume, ByStairsWithWarmUp) {
  ExpectResumesTheSame({"schedule.type=step", "schedule.every=1", "schedule.warmup_steps=20"});
}

// A run that stops after 18 steps of 13 an epoch.
void ExpectGoesOnInMidEpoch(const std::vector<std::string>& settings, const std::string& stopped = "2_5",
                            const std::string& end = "3_13") {
  const RunCase straight(kSections), parts(kSections);
  auto all = settings, some = settings;
  all.push_back("train.epochs=3");
  some.insert(some.end(), {"train.epochs=3", "train.steps=18"});
  ASSERT_EQ(straight.Train(all).exit_code, 0);
  ASSERT_EQ(parts.Train(some).exit_code, 0);
  EXPECT_FALSE(parts.Checkpoint(stopped).empty());
  ASSERT_EQ(parts.Train(all, {"--resume"}).exit_code, 0);
  ASSERT_FALSE(straight.Checkpoint(end).empty());
  EXPECT_EQ(straight.Checkpoint(end), parts.Checkpoint(end));
  EXPECT_EQ(straight.Summary().at("train_loss").back(), parts.Summary().at("train_loss").back());
}

TEST(Resume, AStoppedStepCountGoesOnInMidEpoch) { ExpectGoesOnInMidEpoch({}); }

// Three batches of 16 a step: 13 batches make 5 steps an epoch, the last one of one batch of 8.
const std::vector<std::string> kEverything = {"train.accumulate=3",
                                              "train.clip_norm=0.5",
                                              "train.ema=0.9",
                                              "train.freeze=[conv1.*]",
                                              "train.recompute=[relu1]",
                                              "optimizer.weight_decay=0.01",
                                              "optimizer.decay_bias_and_norm=false",
                                              "optimizer.groups=[{match: linear1.*, lr_scale: 0.5}]",
                                              "schedule={type: one_cycle, warmup_steps: 4}",
                                              "train.early_stop={patience: 50}",
                                              "data.split={test: every_5, validation: every_10}"};

std::vector<std::string> Everything(const std::string& mode) {
  auto settings = kEverything;
  settings.push_back("mode=" + mode);
  return settings;
}

TEST(Resume, WithEverythingThatATrainerHas) {
  for (const char* mode : {"graph", "pynative"}) {
    const RunCase straight(kSections), halves(kSections);
    // A cycle over the whole run: the length of both parts must be known.
    auto all = Everything(mode), part = Everything(mode);
    all.push_back("train.epochs=4");
    part.insert(part.end(), {"train.epochs=4", "checkpoint.steps=1", "checkpoint.keep=100"});
    ASSERT_EQ(straight.Train(all).exit_code, 0);
    ASSERT_EQ(halves.Train(part).exit_code, 0);
    const std::string end = straight.Checkpoint("4_4");
    ASSERT_FALSE(end.empty()) << mode;
    EXPECT_EQ(end, halves.Checkpoint("4_4"));
    for (const char* from : {"1_1", "1_4", "2_3", "3_4"}) {
      const RunCase resumed(kSections);
      const ToolResult result =
          resumed.Train(all, {"--resume", halves.output() + "/checkpoints/t-" + std::string(from) + ".ckpt"});
      ASSERT_EQ(result.exit_code, 0) << result.err;
      EXPECT_EQ(end, resumed.Checkpoint("4_4")) << mode << " from " << from;
      EXPECT_EQ(straight.Summary().at("test_loss"), resumed.Summary().at("test_loss"));
    }
  }
}

// Sends `signal` when the first steps are on record. The run is long enough not to be done by then.
ToolResult Interrupt(const RunCase& run, const std::vector<std::string>& settings, int signal, int times = 1) {
  ToolProcess process(run.Words(settings));
  const std::string metrics = run.output() + "/metrics.jsonl";
  std::error_code none;
  while (process.Running() && (!fs::exists(metrics, none) || fs::file_size(metrics, none) < 200))
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  for (int i = 0; i < times; ++i) process.Signal(signal);
  return process.Wait();
}

TEST(Resume, AnInterruptedRunEndsAsIfItHadNotBeen) {
  const std::vector<std::string> settings = {"train.epochs=120", "schedule.type=cosine", "log.every=1",
                                             "checkpoint.every=200"};
  const RunCase straight(kSections), stopped(kSections);
  ASSERT_EQ(straight.Train(settings).exit_code, 0);
  const ToolResult first = Interrupt(stopped, settings, SIGINT);
  ASSERT_EQ(first.exit_code, 130) << first.err;
  EXPECT_NE(first.out.find("Go on with: tenon train " + stopped.config()), std::string::npos) << first.out;
  EXPECT_EQ(stopped.Summary().at("status"), "interrupted");
  EXPECT_EQ(stopped.Files("checkpoints").size(), 1U);
  const ToolResult second = stopped.Train(settings, {"--resume"});
  ASSERT_EQ(second.exit_code, 0) << second.err;
  ASSERT_FALSE(straight.Checkpoint("120_13").empty());
  EXPECT_EQ(straight.Checkpoint("120_13"), stopped.Checkpoint("120_13"));
}

// The first steps of a scaled loss overflow: a checkpoint from before the first update has the states of the optimiser too.
TEST(Resume, BeforeTheFirstUpdateOfAScaledLoss) {
  for (const char* mode : {"graph", "pynative"}) {
    const std::vector<std::string> settings = {"mode=" + std::string(mode), "amp={level: O2, dtype: fp16}",
                                               "train.accumulate=3",        "train.ema=0.9",
                                               "train.clip_norm=0.5",       "train.epochs=4",
                                               "checkpoint.steps=1",        "checkpoint.keep=100"};
    const RunCase straight(kSections), resumed(kSections);
    ASSERT_EQ(straight.Train(settings).exit_code, 0);
    const std::string from = straight.output() + "/checkpoints/t-1_2.ckpt";
    const ToolResult result = resumed.Train(settings, {"--resume", from});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    ASSERT_FALSE(straight.Checkpoint("4_5").empty());
    EXPECT_EQ(straight.Checkpoint("4_5"), resumed.Checkpoint("4_5")) << mode;
    const auto summary = straight.Summary();
    EXPECT_GT(summary.at("skipped_steps"), 2);
    EXPECT_LE(summary.at("clipping").at("clipped_steps").get<int>() + summary.at("skipped_steps").get<int>(), 20);
  }
}

// The signal comes within a step of many batches: the step is finished, and the run goes on behind it.
TEST(Resume, AnInterruptedSumOfBatchesIsFinished) {
  for (const char* mode : {"graph", "pynative"}) {
    const std::vector<std::string> settings = {"mode=" + std::string(mode), "data.batch=2", "train.accumulate=25",
                                               "train.epochs=60",           "log.every=1",  "checkpoint.every=200"};
    const RunCase straight(kSections), stopped(kSections);
    ASSERT_EQ(straight.Train(settings).exit_code, 0);
    ASSERT_EQ(Interrupt(stopped, settings, SIGINT).exit_code, 130);
    ASSERT_EQ(stopped.Train(settings, {"--resume"}).exit_code, 0);
    ASSERT_FALSE(straight.Checkpoint("60_4").empty());
    EXPECT_EQ(straight.Checkpoint("60_4"), stopped.Checkpoint("60_4"));
  }
}

TEST(Resume, SigtermSavesToo) {
  const RunCase run(kSections);
  EXPECT_EQ(Interrupt(run, {"train.epochs=2000", "log.every=1", "checkpoint.every=3000"}, SIGTERM).exit_code, 143);
  EXPECT_EQ(run.Files("checkpoints").size(), 1U);
}

TEST(Resume, TheLineThatAnInterruptedRunPrintsIsOfTheSameRun) {
  const RunCase run(kSections);
  const std::string rate = "optimizer={type: sgd, lr: 0.25}";
  const ToolResult first = Interrupt(run, {"train.epochs=2000", "log.every=1", "checkpoint.every=3000", rate}, SIGINT);
  ASSERT_EQ(first.exit_code, 130) << first.err;
  EXPECT_NE(first.out.find("Go on with: tenon train " + run.config() +
                           " --set train.epochs=2000 --set log.every=1 --set checkpoint.every=3000 --set '" + rate +
                           "' --output "),
            std::string::npos)
      << first.out;
  EXPECT_NE(first.out.find("/out --resume\n"), std::string::npos) << first.out;
}

TEST(Resume, WithoutCheckpointsNoResumeIsPromised) {
  const RunCase run(kSections);
  const ToolResult result = Interrupt(run, {"train.epochs=2000", "log.every=1", "checkpoint.every=0"}, SIGINT);
  ASSERT_EQ(result.exit_code, 130) << result.err;
  EXPECT_NE(result.out.find("There is no checkpoint of it, so it cannot go on."), std::string::npos) << result.out;
  EXPECT_EQ(result.out.find("--resume"), std::string::npos) << result.out;
}

TEST(Resume, TwoSignalsEndAtOnce) {
  const RunCase run(kSections);
  const ToolResult result = Interrupt(run, {"train.epochs=2000", "log.every=1"}, SIGINT, 2);
  EXPECT_EQ(result.exit_code, 130);
  EXPECT_LT(run.Files("checkpoints").size(), 4U);
}

class RefusedResume : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(run_.Train({"train.epochs=1"}).exit_code, 0);
    before_ = testing_support::ReadFile(run_.output() + "/config.yaml");
  }
  // The former run is left as it was.
  std::string Refuse(const std::vector<std::string>& settings, const std::vector<std::string>& flags = {"--resume"}) {
    const ToolResult result = run_.Train(settings, flags);
    EXPECT_EQ(result.exit_code, 2) << result.err;
    EXPECT_EQ(testing_support::ReadFile(run_.output() + "/config.yaml"), before_);
    EXPECT_EQ(run_.Summary().at("status"), "ok");
    return result.err;
  }
  RunCase run_{kSections};
  std::string before_;
};

TEST_F(RefusedResume, AnotherSeed) {
  EXPECT_NE(Refuse({"seed=9"}).find("seed 1; this run has seed 9"), std::string::npos);
}
TEST_F(RefusedResume, ALargerBatch) {
  EXPECT_NE(Refuse({"data.batch=32"}).find("Set data.batch to 16."), std::string::npos);
}
TEST_F(RefusedResume, ASmallerBatch) {
  EXPECT_NE(Refuse({"data.batch=8"}).find("Set data.batch to 16."), std::string::npos);
}

TEST_F(RefusedResume, AnotherAccumulation) {
  EXPECT_NE(Refuse({"train.accumulate=2"}).find("train.accumulate 1; this run has 2"), std::string::npos);
}

TEST_F(RefusedResume, AnotherSplit) {
  const std::string told = "data.split {test: every_5}; this run has ";
  EXPECT_NE(Refuse({"data.split.test=every_4"}).find(told + "{test: every_4}"), std::string::npos);
  EXPECT_NE(Refuse({"data.split.test=0.2"}).find(told + "{test: 0.2}"), std::string::npos);
  EXPECT_NE(Refuse({"data.split.validation=0.1"}).find(told + "{test: every_5, validation: 0.1}"), std::string::npos);
}

TEST_F(RefusedResume, AnotherOptimizer) {
  const std::string err = Refuse({"optimizer.type=sgd", "optimizer.momentum=0.9"});
  EXPECT_NE(err.find("moments.conv1.weight"), std::string::npos) << err;
  EXPECT_NE(err.find("moment1.conv1.weight"), std::string::npos) << err;
}

TEST_F(RefusedResume, AnotherNetworkListsEverything) {
  const std::string err = Refuse({"network.layers.0.conv.out=6"});
  for (const char* name :
       {"conv1.weight", "conv1.bias", "batch_norm1.running_mean", "linear1.weight", "moment1.conv1.weight"})
    EXPECT_NE(err.find(name), std::string::npos) << name << " in\n" << err;
  EXPECT_NE(err.find("\n--lenient takes the "), std::string::npos) << err;
}

TEST_F(RefusedResume, AnAbsentFile) { Refuse({}, {"--resume", run_.folder() / "absent.ckpt"}); }
TEST_F(RefusedResume, AFileThatIsNoCheckpoint) { Refuse({}, {"--resume", run_.config()}); }

TEST_F(RefusedResume, ADamagedCheckpoint) {
  const std::string path = run_.folder() / "cut.ckpt";
  testing_support::WriteFile(path, run_.Checkpoint("1_13").substr(0, 500));
  Refuse({}, {"--resume", path});
}

TEST_F(RefusedResume, LenientTakesWhatFits) {
  const ToolResult result =
      run_.Train({"network.layers.5.linear.bias=false", "train.epochs=2"}, {"--resume", "--lenient"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const std::string warnings = run_.Summary().at("warnings").dump();
  EXPECT_NE(warnings.find("extra"), std::string::npos) << warnings;
}

// An evaluation at a rate of 0 sees the averages: those of a run that had none begin with its weights.
TEST_F(RefusedResume, LenientAveragesBeginWithTheWeightsOfTheCheckpoint) {
  const std::string before = run_.Summary().at("test_loss").dump();
  const ToolResult result = run_.Train(
      {"train.ema=0.999", "train.epochs=2", "optimizer.lr=0", "network.layers.1={batch_norm: {momentum: 1}}"},
      {"--resume", "--lenient"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(run_.Summary().at("test_loss").dump(), before);
}

TEST(Resume, AFolderThatIsNotThereStaysAway) {
  const RunCase run(kSections);
  const ToolResult result = run.Train({}, {"--resume"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_FALSE(fs::exists(run.output()));
}

}  // namespace
}  // namespace tenon
