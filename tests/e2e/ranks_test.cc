// Runs of several processes: their files, their metrics, and how they go on, against runs of one process with the same samples
// a step.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/e2e/rank_run.h"
#include "tests/unit/data/data_files.h"
#include "tests/unit/data/pictures.h"

namespace tenon {
namespace {

using testing_support::LoggedNumbers;
using testing_support::RankRun;
using testing_support::ReadFile;
using testing_support::RunCase;
using testing_support::ToolResult;

constexpr const char* kSections = R"(
data: {type: synthetic, samples: 250, classes: 4, image: {shape: [1, 6, 6]}, split: {test: every_5}, batch: 8}
network: {layers: [{conv: {out: 4, kernel: 3}}, {relu: {}}, {flatten: {}}, {linear: {out: 4}}]}
optimizer: {type: sgd, lr: 0.05, momentum: 0.9}
schedule: {type: constant}
eval: {metrics: [loss, accuracy, top_2, f1_macro, confusion_matrix]}
train: {epochs: 2}
log: {every: 1}
)";

std::vector<ToolResult> TrainOnRanks(const RunCase& run, int ranks, const std::vector<std::string>& settings = {},
                                     const std::vector<std::string>& flags = {}) {
  return RankRun(run.Words(settings, flags), ranks).Wait();
}

void ExpectDone(const std::vector<ToolResult>& results) {
  for (const ToolResult& result : results) ASSERT_EQ(result.exit_code, 0) << result.out << result.err;
}

nlohmann::json SummaryOf(const RunCase& run, int rank) {
  const std::string folder = rank == 0 ? run.output() : fmt::format("{}/rank_{}", run.output(), rank);
  return nlohmann::json::parse(ReadFile(folder + "/summary.json"), nullptr, false);
}

// The losses of all steps.
std::vector<double> Losses(const RunCase& run) { return LoggedNumbers(run.output(), {"loss"}); }

TEST(Ranks, OneFolderIsWrittenByTheFirst) {
  const RunCase run(kSections);
  for (int time = 0; time < 2; ++time) ExpectDone(TrainOnRanks(run, 3));
  for (int rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(SummaryOf(run, rank)["rank"], rank);
    EXPECT_EQ(SummaryOf(run, rank)["world_size"], 3);
    EXPECT_EQ(SummaryOf(run, rank)["status"], "ok");
  }
  EXPECT_EQ(run.Files("rank_1"), (std::vector<std::string>{"log.txt", "summary.json"}));
  EXPECT_EQ(run.Files("rank_2"), (std::vector<std::string>{"log.txt", "summary.json"}));
  for (const char* file : {"config.yaml", "confusion_matrix.csv", "metrics.jsonl", "log.txt"})
    EXPECT_TRUE(std::filesystem::exists(run.output() + "/" + file)) << file;
  EXPECT_TRUE(std::filesystem::exists(run.output() + ".1/rank_2/summary.json"));
  EXPECT_FALSE(std::filesystem::exists(run.output() + ".2"));
}

TEST(Ranks, LossesAndMetricsAreThoseOfOneProcess) {
  const RunCase one(kSections);
  ASSERT_EQ(one.Train({"data.batch=24"}).exit_code, 0);
  for (const int ranks : {2, 3}) {
    const RunCase run(kSections);
    ExpectDone(TrainOnRanks(run, ranks, {fmt::format("data.batch={}", 24 / ranks)}));
    const auto expected = Losses(one), losses = Losses(run);
    ASSERT_EQ(losses.size(), expected.size());
    for (std::size_t i = 0; i < losses.size(); ++i) EXPECT_NEAR(losses[i], expected[i], 1e-5) << i;
    for (int rank = 0; rank < ranks; ++rank) {
      const auto summary = SummaryOf(run, rank);
      EXPECT_EQ(summary["weights_sha256"], SummaryOf(run, 0)["weights_sha256"]);
      EXPECT_EQ(summary["test_metrics"], SummaryOf(run, 0)["test_metrics"]);
      EXPECT_NEAR(summary["test_loss"], one.Summary()["test_loss"], 1e-5);
      EXPECT_EQ(summary["test_accuracy"], one.Summary()["test_accuracy"]);
    }
  }
}

// The same weights, measured by one process and by three: the counts are equal, whoever counted.
// One rank meets what cannot be read: the summary of the run has it, and where the run fails every rank names the file.
TEST(Ranks, UnreadableSamplesAreThoseOfTheRun) {
  const testing::Folder pictures;
  const auto bytes = testing::FixtureBytes("full.jpg");
  for (const char* folder : {"a", "b"}) {
    std::filesystem::create_directories(pictures.path() + "/" + folder);
    for (int i = 0; i < 6; ++i)
      pictures.Write(fmt::format("{}/{}.jpg", folder, i), std::string(bytes.begin(), bytes.end()));
  }
  const std::string broken = pictures.Write("b/2.jpg", "");
  const RunCase run("data: {type: images, path: " + pictures.path() +
                    ", batch: 2, transforms: [{resize: {size: [4, 4]}}]}\n"
                    "network: {layers: [{flatten: {}}, {linear: {out: 2}}]}\noptimizer: {type: sgd, lr: 0}\n"
                    "train: {epochs: 3}\n");
  ExpectDone(TrainOnRanks(run, 3, {"data.on_error=skip"}));
  for (int rank = 0; rank < 3; ++rank) EXPECT_EQ(SummaryOf(run, rank)["skipped_samples"], 3);
  for (const ToolResult& result : TrainOnRanks(run, 3)) {
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_NE(result.err.find(broken + ": "), std::string::npos) << result.err;
  }
}

// The ranks meet once for all seeds.
TEST(Ranks, RepeatWithOtherSeeds) {
  const RunCase run(kSections), alone(kSections);
  const std::vector<ToolResult> results = TrainOnRanks(run, 2, {"data.batch=4"}, {"--repeat-seeds", "3,1"});
  ExpectDone(results);
  ASSERT_EQ(alone.Train({}, {"--repeat-seeds", "3,1"}).exit_code, 0);
  for (const char* seed : {"seed_3", "seed_1"}) {
    const auto losses = LoggedNumbers(run.output() + "/" + seed, {"loss"});
    testing_support::ExpectClose(losses, LoggedNumbers(alone.output() + "/" + seed, {"loss"}), 1e-5);
    EXPECT_TRUE(std::filesystem::exists(run.output() + "/" + seed + "/rank_1/summary.json"));
  }
  for (const ToolResult& result : results) EXPECT_NE(result.out.find("over 2 seeds: mean"), std::string::npos);
}

TEST(Ranks, AnEvaluationCountsTheSame) {
  const RunCase one(kSections);
  ASSERT_EQ(one.Train({"data.batch=24"}).exit_code, 0);
  const std::string matrix = ReadFile(one.output() + "/confusion_matrix.csv");
  const auto before = one.Summary();
  ExpectDone(TrainOnRanks(one, 3, {"data.batch=8"}, {"--resume"}));  // nothing is left to train
  EXPECT_EQ(one.Summary()["weights_sha256"], before["weights_sha256"]);
  EXPECT_EQ(ReadFile(one.output() + "/confusion_matrix.csv"), matrix);
  for (const char* metric : {"accuracy", "top_2", "f1_macro"})
    EXPECT_EQ(one.Summary()["test_metrics"][metric], before["test_metrics"][metric]) << metric;
  EXPECT_NEAR(one.Summary()["test_loss"], before["test_loss"], 1e-6);
}

void ExpectGoesOn(const std::vector<std::string>& settings) {
  const RunCase straight(kSections), parts(kSections);
  auto all = settings, some = settings;
  all.push_back("train.epochs=3");
  some.insert(some.end(), {"train.epochs=3", "train.steps=18"});  // of 13 an epoch
  ExpectDone(TrainOnRanks(straight, 2, all));
  ExpectDone(TrainOnRanks(parts, 2, some));
  ASSERT_FALSE(parts.Checkpoint("2_5").empty());
  ExpectDone(TrainOnRanks(parts, 2, all, {"--resume"}));
  ASSERT_FALSE(straight.Checkpoint("3_13").empty());
  EXPECT_EQ(straight.Checkpoint("3_13"), parts.Checkpoint("3_13"));
}

TEST(Ranks, GoOnInMidEpochWithTheSameBits) { ExpectGoesOn({}); }
TEST(Ranks, GoOnWithWhatPowerSgdHasNotSent) { ExpectGoesOn({"parallel.hook.type=powersgd", "parallel.hook.rank=1"}); }
TEST(Ranks, GoOnWithShortGradients) { ExpectGoesOn({"parallel.wire=bf16"}); }

TEST(Ranks, NormaliseOverTheSamplesOfAll) {
  std::string sections = kSections;
  sections.replace(sections.find("{relu"), 1, "{batch_norm: {}}, {");
  const RunCase one(sections);
  ASSERT_EQ(one.Train({"data.batch=24"}).exit_code, 0);
  const auto expected = Losses(one);
  for (const char* device : {"device=cpu", "device=npu"}) {
    const RunCase run(sections);
    ExpectDone(TrainOnRanks(run, 3, {"parallel.sync_batch_norm=true", device}));
    const auto losses = Losses(run);
    ASSERT_EQ(losses.size(), expected.size());
    for (std::size_t i = 0; i < losses.size(); ++i) EXPECT_NEAR(losses[i], expected[i], 1e-5) << i << " " << device;
    EXPECT_NEAR(SummaryOf(run, 2)["test_loss"], one.Summary()["test_loss"], 1e-5) << device;
  }
}

// Memory that the host does not reach is copied for a hook; the losses are those of the other device, as far as matrices lie
// alike in its memory.
TEST(Ranks, ShortenGradientsOnAnotherDevice) {
  for (const std::vector<std::string>& option :
       {std::vector<std::string>{"parallel.wire=bf16"}, {"parallel.hook.type=powersgd", "parallel.hook.rank=2"}}) {
    const RunCase cpu(kSections), npu(kSections);
    auto on_npu = option;
    on_npu.push_back("device=npu");
    ExpectDone(TrainOnRanks(cpu, 2, option));
    ExpectDone(TrainOnRanks(npu, 2, on_npu));
    EXPECT_EQ(SummaryOf(npu, 0)["weights_sha256"], SummaryOf(npu, 1)["weights_sha256"]);
    const auto expected = Losses(cpu), losses = Losses(npu);
    ASSERT_EQ(losses.size(), expected.size());
    for (std::size_t i = 0; i < losses.size(); ++i)
      EXPECT_NEAR(losses[i], expected[i], option.size() == 1 ? 0.01 : 0.1) << i;
  }
}

// Two ranks of 8 stop, one of 16 or four of 4 go on: the same samples in each step that is left.
TEST(Ranks, AnotherNumberGoesOnWithWhatIsLeft) {
  const RunCase straight(kSections);
  ExpectDone(TrainOnRanks(straight, 2));
  for (const int ranks : {1, 4}) {
    const RunCase parts(kSections);
    ExpectDone(TrainOnRanks(parts, 2, {"train.steps=5"}));
    const std::vector<std::string> settings = {fmt::format("data.batch={}", 16 / ranks)};
    if (ranks == 1) {
      ASSERT_EQ(parts.Train(settings, {"--resume"}).exit_code, 0);
    } else {
      ExpectDone(TrainOnRanks(parts, ranks, settings, {"--resume"}));
    }
    const auto expected = Losses(straight), losses = Losses(parts);
    ASSERT_EQ(losses.size(), expected.size());
    for (std::size_t i = 0; i < losses.size(); ++i) EXPECT_NEAR(losses[i], expected[i], 1e-5) << i;
  }
}

TEST(Ranks, AnotherNumberOfSamplesAStepIsRefused) {
  const RunCase run(kSections);
  ExpectDone(TrainOnRanks(run, 2, {"train.steps=5"}));
  for (const ToolResult& result : TrainOnRanks(run, 3, {}, {"--resume"})) {
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_NE(result.err.find("of a run with 16 samples a step; this run has 24 (3 ranks of 'data.batch' 8)"),
              std::string::npos)
        << result.err;
    EXPECT_NE(result.err.find("No 'data.batch' of 3 ranks makes 16;"), std::string::npos) << result.err;
  }
  const ToolResult alone = run.Train({}, {"--resume"});
  EXPECT_NE(alone.err.find("this run has 8: its place in the epoch would be another. Set data.batch to 16."),
            std::string::npos)
      << alone.err;
}

TEST(Ranks, WhatAHookKeepsIsNotLost) {
  const RunCase run(kSections);
  const std::vector<std::string> hook = {"parallel.hook.type=powersgd", "parallel.hook.rank=1"};
  auto some = hook;
  some.push_back("train.steps=5");
  ExpectDone(TrainOnRanks(run, 2, some));
  EXPECT_NE(run.Train({"data.batch=16"}, {"--resume"}).err.find("this run has no hook"), std::string::npos);
  auto four = hook;
  four.push_back("data.batch=4");
  ExpectDone(TrainOnRanks(run, 4, four, {"--resume"}));
}

TEST(Ranks, MeetAfterAFewStepsAlone) {
  const RunCase run(kSections);
  ExpectDone(TrainOnRanks(run, 2, {"parallel.sync.every=4"}));
  EXPECT_EQ(SummaryOf(run, 0)["weights_sha256"], SummaryOf(run, 1)["weights_sha256"]);
  EXPECT_EQ(SummaryOf(run, 0)["test_metrics"], SummaryOf(run, 1)["test_metrics"]);
  EXPECT_LT(Losses(run).back(), Losses(run).front());
  ExpectGoesOn({"parallel.sync.every=3"});  // step 18 is one at which they meet
}

}  // namespace
}  // namespace tenon
