// Several processes that train one network: they learn what one process learns whose batch is all of theirs, whatever the
// engine, the device, the plugin of the collectives and the numbers of batches; and they end together. Expected values are
// those of the run of one process.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <thread>

#include "tests/e2e/rank_run.h"
#include "tests/support/build_folder.h"

namespace tenon {
namespace {

using testing_support::ExpectClose;
using testing_support::LoggedNumbers;
using testing_support::RankRun;
using testing_support::ReadFile;
using testing_support::RunCase;
using testing_support::RunTool;
using testing_support::ToolResult;
using Names = std::vector<std::string>;

// 103 samples to learn from: with three ranks of 17 the third step has one sample, on the first rank.
constexpr const char* kNetwork = R"(
data: {type: synthetic, samples: 128, classes: 4, image: {shape: [2, 8, 8]}, split: {test: every_5}, batch: 17}
network:
  layers:
    - conv: {out: 5, kernel: 3, pad: 1}
    - relu
    - max_pool: {kernel: 2}
    - flatten
    - linear: {out: 37}
    - layer_norm
    - gelu
    - linear: {out: 4}
optimizer: {type: adam, lr: 0.002, eps: 1e-4}
train: {epochs: 3}
log: {every: 1}
)";

nlohmann::json SummaryOf(const RunCase& run, int rank) {
  const std::string folder = rank == 0 ? run.output() : run.output() + "/rank_" + std::to_string(rank);
  return nlohmann::json::parse(ReadFile(folder + "/summary.json"), nullptr, false);
}

// Trains with so many ranks; all must end well and with the same weights.
nlohmann::json TrainRanks(const RunCase& run, int size, const Names& settings, const Names& flags = {},
                          int launchers = 1) {
  const std::vector<ToolResult> results = RankRun(run.Words(settings, flags), size, launchers).Wait();
  for (const ToolResult& result : results) EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
  const nlohmann::json first = SummaryOf(run, 0);
  if (first.is_discarded()) return nlohmann::json::object();
  for (int rank = 1; rank < size; ++rank) {
    const nlohmann::json other = SummaryOf(run, rank);
    EXPECT_EQ(other.value("weights_sha256", "none"), first.at("weights_sha256")) << rank;
    EXPECT_EQ(other.value("skipped_steps", -1), first.at("skipped_steps"));
    EXPECT_EQ(other.value("steps", -1), first.at("steps"));
  }
  return first;
}

Names With(Names settings, const Names& more) {
  settings.insert(settings.end(), more.begin(), more.end());
  return settings;
}

// `batch` is that of one rank. Compares all losses of steps and evaluations.
nlohmann::json ExpectTheSame(int size, int batch, const Names& settings, const Names& flags = {},
                             double tolerance = 1e-5) {
  const RunCase alone(kNetwork), together(kNetwork);
  const ToolResult one = alone.Train(With(settings, {"data.batch=" + std::to_string(size * batch)}));
  EXPECT_EQ(one.exit_code, 0) << one.err;
  const nlohmann::json summary =
      TrainRanks(together, size, With(settings, {"data.batch=" + std::to_string(batch)}), flags);
  for (const char* key : {"loss", "test_loss"})
    ExpectClose(LoggedNumbers(together.output(), {key}), LoggedNumbers(alone.output(), {key}), tolerance);
  return summary;
}

TEST(DataParallel, TwoRanksLearnWhatOneLearns) {
  for (const char* mode : {"mode=graph", "mode=pynative"}) {
    const nlohmann::json summary = ExpectTheSame(2, 16, {mode});
    ASSERT_TRUE(summary.contains("communication")) << summary;
    const nlohmann::json& communication = summary.at("communication");
    EXPECT_EQ(communication.at("buckets"), 1);
    EXPECT_EQ(communication.at("staged"), 0);
    EXPECT_TRUE(communication.at("emulated").empty());
    // Compiled steps compute gradients where they are summed.
    if (std::string(mode) == "mode=graph") {
      EXPECT_EQ(communication.at("copies"), 0);
    }
    EXPECT_EQ(summary.at("ranks").size(), 2U);
    EXPECT_FALSE(summary.at("step_ms").at("comm").is_null());
  }
}

// Each launcher calls its first process local rank 0, and all of them share the memory of this machine.
TEST(DataParallel, RanksOfSeveralLaunchersOnOneMachineShareItsMemory) {
  for (const auto& [size, launchers] : {std::pair{2, 2}, {4, 2}}) {
    for (const char* mode : {"mode=graph", "mode=pynative"}) {
      const RunCase alone(kNetwork), together(kNetwork);
      const ToolResult one = alone.Train({mode, "data.batch=" + std::to_string(size * 8)});
      EXPECT_EQ(one.exit_code, 0) << one.err;
      TrainRanks(together, size, {mode, "data.batch=8"}, {}, launchers);
      for (const char* key : {"loss", "test_loss"})
        ExpectClose(LoggedNumbers(together.output(), {key}), LoggedNumbers(alone.output(), {key}), 1e-5);
    }
  }
}

TEST(DataParallel, AnotherDeviceIsOneLine) {
  for (const char* mode : {"mode=graph", "mode=pynative"}) {
    const nlohmann::json summary = ExpectTheSame(2, 16, {mode, "device=npu", "fallback=allow"});
    EXPECT_EQ(summary.at("communication").at("staged"), 0);
  }
}

TEST(DataParallel, MemoryThatThePluginDoesNotReachGoesThroughTheHost) {
  const std::string loopback = testing_support::BuildFolder() + "/fixtures/comm_loopback";
  const nlohmann::json summary = ExpectTheSame(2, 16, {"device=npu", "fallback=allow"},
                                               {"--plugin-dir", loopback, "--set", "parallel.comm=comm_loopback"});
  EXPECT_GT(summary.at("communication").at("staged"), 0);
  EXPECT_NE(summary.at("communication").at("plugin").get<std::string>().find("copied through the host"),
            std::string::npos);
}

TEST(DataParallel, ARankWithoutSamplesTakesPartWithNothing) {
  for (const char* mode : {"mode=graph", "mode=pynative"}) {
    ExpectTheSame(3, 17, {mode});
    ExpectTheSame(3, 17, {mode, "train.clip_norm=0.5"});
    ExpectTheSame(3, 5, {mode, "train.accumulate=3"});
  }
}

TEST(DataParallel, LabelsThatAreIgnoredDoNotCount) {
  const Names ignored = {"loss={type: softmax_cross_entropy, ignore_index: 2}"};
  for (const char* mode : {"mode=graph", "mode=pynative"}) {
    ExpectTheSame(2, 16, With(ignored, {mode}));
    ExpectTheSame(3, 17, With(ignored, {mode, "train.accumulate=2"}));
    ExpectTheSame(2, 16, {mode, "loss={type: softmax_cross_entropy, class_weights: [1, 2, 0.5, 3]}"});
  }
}

TEST(DataParallel, GradientsAreClippedAfterTheyAreSummed) {
  const RunCase alone(kNetwork), together(kNetwork);
  EXPECT_EQ(alone.Train({"train.clip_norm=0.5", "data.batch=32"}).exit_code, 0);
  TrainRanks(together, 2, {"train.clip_norm=0.5", "data.batch=16"});
  ExpectClose(LoggedNumbers(together.output(), {"grad_norm"}), LoggedNumbers(alone.output(), {"grad_norm"}), 1e-4);
}

TEST(DataParallel, ManyBucketsGiveTheSameBits) {
  const RunCase one(kNetwork), many(kNetwork), again(kNetwork);
  const Names small = {"parallel.first_bucket_mb=0.0005", "parallel.bucket_mb=0.002"};
  const nlohmann::json whole = TrainRanks(one, 2, {}), parts = TrainRanks(many, 2, small);
  EXPECT_EQ(parts.at("communication").at("buckets"), 3);
  EXPECT_EQ(parts.at("communication").at("copies"), 0);
  EXPECT_EQ(parts.at("weights_sha256"), whole.at("weights_sha256"));
  EXPECT_EQ(TrainRanks(again, 2, small).at("weights_sha256"), whole.at("weights_sha256"));
}

// Two parameters that are added have one gradient: it lies in one of their places and is copied to the other.
TEST(DataParallel, GradientsThatShareTheirMemoryAreCopied) {
  const std::string network = R"(
data: {type: synthetic, samples: 64, classes: 4, image: {shape: [2, 4, 4]}, split: {test: every_5}, batch: 16}
network:
  layers:
    - flatten: {name: x}
    - parameter: {shape: [32], name: a}
    - parameter: {shape: [32], name: b}
    - add: {input: [a, b], name: ab}
    - add: {input: [x, ab]}
    - linear: {out: 4}
optimizer: {type: sgd, lr: 0.1}
train: {epochs: 2}
log: {every: 1}
)";
  const RunCase alone(network), together(network);
  const ToolResult one = alone.Train({"data.batch=32"});
  EXPECT_EQ(one.exit_code, 0) << one.err;
  const nlohmann::json summary = TrainRanks(together, 2, {});
  EXPECT_GT(summary.at("communication").at("copies"), 0);
  ExpectClose(LoggedNumbers(together.output(), {"loss"}), LoggedNumbers(alone.output(), {"loss"}), 1e-5);
}

// The first scale is too large, so the first steps overflow.
TEST(DataParallel, RanksAgreeThatAStepIsSkipped) {
  for (const char* mode : {"mode=graph", "mode=pynative"}) {
    for (const char* accumulate : {"train.accumulate=1", "train.accumulate=2"}) {
      const RunCase run(kNetwork);
      const nlohmann::json summary = TrainRanks(
          run, 3, {mode, accumulate, "train.epochs=10", "amp={level: O2, dtype: fp16, loss_scale: {init: 16777216}}"});
      EXPECT_GT(summary.value("skipped_steps", 0), 0) << mode << accumulate;
      EXPECT_LT(summary.value("skipped_steps", 0), summary.value("steps", 0)) << mode << accumulate;
    }
  }
}

TEST(DataParallel, OneRankIsAskedToStopAndAllDo) {
  const RunCase run(kNetwork);
  RankRun ranks(run.Words({"train.epochs=20000", "checkpoint.every=0"}), 2);
  std::this_thread::sleep_for(std::chrono::seconds(2));
  ranks.rank(1).Signal(SIGTERM);
  for (const ToolResult& result : ranks.Wait()) EXPECT_EQ(result.exit_code, 128 + SIGTERM) << result.out << result.err;
  const nlohmann::json first = SummaryOf(run, 0), second = SummaryOf(run, 1);
  ASSERT_FALSE(first.is_discarded());
  EXPECT_EQ(first.at("status"), "interrupted");
  EXPECT_EQ(first.at("steps"), second.value("steps", -1));
  EXPECT_EQ(first.at("weights_sha256"), second.value("weights_sha256", "none"));
}

TEST(DataParallel, ARankThatDiesEndsTheOthersWithTheCause) {
  const RunCase run(kNetwork);
  RankRun ranks(run.Words({"train.epochs=20000", "checkpoint.every=0"}), 3);
  std::this_thread::sleep_for(std::chrono::seconds(2));
  ranks.rank(1).Signal(SIGKILL);
  const auto killed = std::chrono::steady_clock::now();
  const std::vector<ToolResult> results = ranks.Wait();
  EXPECT_LT(std::chrono::steady_clock::now() - killed, std::chrono::seconds(10));
  for (const std::size_t rank : {0U, 2U}) {
    EXPECT_EQ(results[rank].exit_code, 1) << results[rank].err;
    EXPECT_NE(results[rank].err.find("ank 1"), std::string::npos) << results[rank].err;
  }
}

// A loss that is not finite on one rank, whose learning rate alone is not the reason.
TEST(DataParallel, AFailureOfOneRankIsTheCauseOnAll) {
  const RunCase run(kNetwork);
  const std::vector<ToolResult> results = RankRun(run.Words({"optimizer.lr=1e30"}), 2).Wait();
  for (const ToolResult& result : results) {
    EXPECT_EQ(result.exit_code, 1) << result.out;
    EXPECT_NE(result.err.find("not finite"), std::string::npos) << result.err;
  }
}

TEST(DataParallel, RanksWithDifferentFilesAreRefused) {
  const RunCase run(kNetwork), other(kNetwork);
  const std::string port = std::to_string(testing_support::FreePort());
  const auto environment = [&](const char* rank) {
    return Names{std::string("RANK=") + rank, std::string("LOCAL_RANK=") + rank, "WORLD_SIZE=2",
                 "LOCAL_WORLD_SIZE=2",        "MASTER_ADDR=127.0.0.1",           "MASTER_PORT=" + port};
  };
  testing_support::ToolProcess first(run.Words({"optimizer.lr=0.1"}), environment("0"));
  testing_support::ToolProcess second(other.Words({"optimizer.lr=0.2"}), environment("1"));
  for (const ToolResult& result : {first.Wait(), second.Wait()}) {
    EXPECT_NE(result.exit_code, 0);
    EXPECT_NE(result.err.find("config"), std::string::npos) << result.err;
  }
}

// As hosts may have: the same run file, and other rows under the same path.
TEST(DataParallel, RanksWithDifferentDataAreRefused) {
  const std::string rows = "1,2,0\n3,4,1\n5,6,0\n7,8,1\n";
  const struct {
    std::string rows, error;
  } others[] = {{rows + "9,9,1\n", "'training samples of data' is "},
                {"1,2,0\n3,4,1\n5,6,0\n7,9,1\n", "'checksum of data' is "}};
  for (const auto& other : others) {
    std::vector<std::unique_ptr<RunCase>> runs;
    std::vector<std::unique_ptr<testing_support::ToolProcess>> ranks;
    const std::string port = std::to_string(testing_support::FreePort());
    for (int rank = 0; rank < 2; ++rank) {
      runs.push_back(
          std::make_unique<RunCase>("data: {type: csv, path: rows.csv, batch: 2}\n"
                                    "network: {layers: [{linear: {out: 2}}]}\noptimizer: {lr: 0.1}\n"));
      testing_support::WriteFile(runs.back()->folder() / "rows.csv", rank == 0 ? rows : other.rows);
      ranks.push_back(std::make_unique<testing_support::ToolProcess>(
          runs.back()->Words(), Names{fmt::format("RANK={}", rank), fmt::format("LOCAL_RANK={}", rank), "WORLD_SIZE=2",
                                      "LOCAL_WORLD_SIZE=2", "MASTER_ADDR=127.0.0.1", "MASTER_PORT=" + port}));
    }
    for (auto& rank : ranks) {
      const ToolResult result = rank->Wait();
      EXPECT_EQ(result.exit_code, 2) << result.err;
      EXPECT_NE(result.err.find(other.error), std::string::npos) << result.err;
    }
  }
}

TEST(DataParallel, ThePluginOfTheCollectivesIsNamedWhereItIsMissing) {
  const RunCase run(kNetwork);
  for (const ToolResult& result : RankRun(run.Words({"parallel.comm=comm_nowhere"}), 2).Wait()) {
    EXPECT_EQ(result.exit_code, 3) << result.err;
    EXPECT_NE(result.err.find("comm_nowhere"), std::string::npos) << result.err;
  }
}

}  // namespace
}  // namespace tenon
