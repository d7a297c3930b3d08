// What a run with the further keys of train, eval and init_from leaves behind.
#include <gtest/gtest.h>

#include "tests/e2e/run_case.h"

namespace tenon {
namespace {

using testing_support::ReadFile;
using testing_support::RunCase;
using testing_support::ToolResult;

constexpr const char* kSections =
    R"(
data: {type: csv, path: )" TENON_SOURCE_DIR
    R"(/data/optdigits.csv.gz, samples: 600, image: {shape: [1, 8, 8], scale: 0.0625}, split: {test: every_5}, batch: 32}
network: {zoo: mlp, args: {hidden: [32]}}
optimizer: {type: sgd, lr: 0.1, momentum: 0.9}
train: {epochs: 3}
)";

TEST(Trainer, EveryFeatureIsInTheSummary) {
  for (const char* mode : {"graph", "pynative"}) {
    const RunCase run(kSections);
    const ToolResult result =
        run.Train({"mode=" + std::string(mode), "train.accumulate=2", "train.clip_norm=0.01", "train.ema=0.5",
                   "train.freeze=[linear1.bias]", "train.recompute=[relu1]",
                   "train.early_stop={metric: accuracy, patience: 9}", "optimizer.weight_decay=0.001",
                   "optimizer.decay_bias_and_norm=false", "optimizer.groups=[{match: linear2.weight, lr_scale: 2}]",
                   "schedule=polynomial", "data.split={test: every_5, validation: 0.25}",
                   "eval.metrics=[loss, accuracy, top_3, perplexity, f1_macro, f1_micro, confusion_matrix]"});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    const auto summary = run.Summary();
    EXPECT_EQ(summary.at("schedule"), "polynomial");
    EXPECT_EQ(summary.at("accumulate"), 2);
    EXPECT_EQ(summary.at("steps"), 18);  // 360 samples of 600: 12 batches an epoch
    EXPECT_EQ(summary.at("clipping").at("norm"), 0.01);
    EXPECT_EQ(summary.at("clipping").at("clipped_steps"), 18);
    EXPECT_EQ(summary.at("ema"), 0.5);
    EXPECT_EQ(summary.at("frozen_parameters"), 1);
    EXPECT_EQ(summary.at("recomputed_nodes"), 1);
    const auto& groups = summary.at("parameter_groups");
    ASSERT_EQ(groups.size(), 3U);
    EXPECT_EQ(groups[0].at("lr_scale"), 2);
    EXPECT_EQ(groups[1].at("match"), "bias and norm");
    EXPECT_EQ(groups[1].at("weight_decay"), 0);
    EXPECT_EQ(groups[2].at("parameters"), 1);
    EXPECT_EQ(summary.at("early_stop").at("metric"), "accuracy");
    EXPECT_EQ(summary.at("early_stop").at("reached"), false);
    EXPECT_GT(summary.at("early_stop").at("best"), 0.2);
    const auto &test = summary.at("test_metrics"), &validation = summary.at("validation_metrics");
    for (const char* name : {"loss", "accuracy", "top_3", "perplexity", "f1_macro", "f1_micro"}) {
      EXPECT_TRUE(test.contains(name)) << name;
      EXPECT_TRUE(validation.contains(name)) << name;
    }
    EXPECT_GE(test.at("top_3"), test.at("accuracy"));
    EXPECT_DOUBLE_EQ(test.at("perplexity"), std::exp(test.at("loss").get<double>()));
    const auto& matrix = summary.at("confusion_matrix");
    EXPECT_EQ(matrix.at("samples"), 120);
    EXPECT_DOUBLE_EQ(matrix.at("right").get<double>() / 120, test.at("accuracy").get<double>());
    const std::string table = ReadFile(run.output() + "/confusion_matrix.csv");
    EXPECT_EQ(std::count(table.begin(), table.end(), '\n'), 11);
    const std::string metrics = ReadFile(run.output() + "/metrics.jsonl");
    EXPECT_NE(metrics.find("\"grad_norm\""), std::string::npos);
    EXPECT_NE(metrics.find("\"validation_accuracy\""), std::string::npos);
  }
}

TEST(Trainer, AnEarlyStopEndsTheRunAndStaysEnded) {
  const RunCase run(kSections);
  const std::vector<std::string> settings = {"optimizer.lr=0", "optimizer.momentum=0", "train.epochs=20",
                                             "train.early_stop={patience: 2}"};
  const ToolResult result = run.Train(settings);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.out.find("Early stop: loss was best in epoch 1."), std::string::npos) << result.out;
  EXPECT_EQ(run.Summary().at("epochs"), 3);
  EXPECT_EQ(run.Summary().at("early_stop").at("reached"), true);
  const std::string last = run.Checkpoint("3_15");
  ASSERT_FALSE(last.empty());
  ASSERT_EQ(run.Train(settings, {"--resume"}).exit_code, 0);
  EXPECT_EQ(run.Summary().at("epochs"), 0);
  EXPECT_EQ(run.Checkpoint("3_15"), last);
}

// Weights of one run as the first weights of another, in each form of checkpoint.
TEST(Trainer, WeightsFromAFile) {
  const RunCase source(kSections);
  ASSERT_EQ(source.Train({"checkpoint.format=safetensors"}).exit_code, 0);
  const std::string file = source.output() + "/checkpoints/t-3_15.safetensors";
  for (const char* mode : {"graph", "pynative"}) {
    const RunCase run(kSections);
    const std::string still = "optimizer={type: sgd, lr: 0}";
    const ToolResult result =
        run.Train({"mode=" + std::string(mode), "init_from=" + file, still, "train.epochs=1", "train.ema=0.9"});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(run.Summary().at("weights_sha256"), source.Summary().at("weights_sha256"));
    EXPECT_NEAR(run.Summary().at("test_loss"), source.Summary().at("test_loss"), 1e-5);
    EXPECT_EQ(run.Summary().at("init_from").at("loaded"), 4);
  }
  const RunCase renamed(kSections);
  const std::string layers =
      "network={layers: [flatten, {linear: {out: 32, name: a}}, relu, {linear: {out: 10, name: b}}]}";
  const std::string rename = "rename: {linear1.: a., linear2.: b.}";
  ASSERT_EQ(renamed.Train({layers, "init_from={path: " + file + ", " + rename + "}", "train.epochs=1"}).exit_code, 0);
  EXPECT_EQ(renamed.Summary().at("init_from").at("missing"), 0);
  const RunCase misspelt(kSections);
  const ToolResult nothing = misspelt.Train({layers, "init_from={path: " + file + ", rename: {linaer1.: a.}}"});
  EXPECT_EQ(nothing.exit_code, 2);
  EXPECT_NE(nothing.err.find("has a name that begins with 'linaer1.'. Did you mean 'linear1.'?"), std::string::npos)
      << nothing.err;
  const std::string wider = "network={layers: [flatten, {linear: {out: 32}}, relu, {linear: {out: 12}}]}";
  const RunCase strict(kSections), lenient(kSections);
  const ToolResult refused = strict.Train({wider, "init_from=" + file, "train.epochs=1"});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_NE(refused.err.find("linear2.weight: the file has float32[10,32], the network needs float32[12,32]"),
            std::string::npos)
      << refused.err;
  EXPECT_NE(refused.err.find("\ninit_from.strict: false takes the 2 tensors that fit"), std::string::npos)
      << refused.err;
  ASSERT_EQ(lenient.Train({wider, "init_from={path: " + file + ", strict: false}", "train.epochs=1"}).exit_code, 0);
  EXPECT_EQ(lenient.Summary().at("init_from").at("mismatched"), 2);
  EXPECT_NE(lenient.Summary().at("warnings").dump().find("2 mismatched"), std::string::npos);
}

TEST(Trainer, SeveralSeedsInOneCommand) {
  const RunCase run(kSections);
  const ToolResult result = run.Train({"train.epochs=1"}, {"--repeat-seeds", "1,2,3"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.out.find("test accuracy over 3 seeds: mean "), std::string::npos) << result.out;
  EXPECT_EQ(run.Files(), (std::vector<std::string>{"seed_1", "seed_2", "seed_3"}));
  const RunCase failing(kSections);
  const ToolResult failed = failing.Train({"optimizer.lr=1e30", "train.epochs=2"}, {"--repeat-seeds", "4,5"});
  EXPECT_EQ(failed.exit_code, 1);
  EXPECT_NE(failed.err.find("error: The run with seed 4 ended with exit code 1."), std::string::npos) << failed.err;
  EXPECT_EQ(failing.Files(), (std::vector<std::string>{"seed_4"}));
}

TEST(Trainer, MetricsLeaveOutIgnoredLabels) {
  const RunCase run(kSections);
  const ToolResult result = run.Train({"loss={type: nll, ignore_index: 0}", "train.epochs=1",
                                       "eval.metrics=[loss, perplexity, confusion_matrix]",
                                       "network={layers: [flatten, {linear: {out: 10}}, {op: {type: LogSoftmax}}]}"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const std::string table = ReadFile(run.output() + "/confusion_matrix.csv");
  EXPECT_NE(table.find("\n0,0,0,0,0,0,0,0,0,0,0\n"), std::string::npos) << table;
  EXPECT_LT(run.Summary().at("confusion_matrix").at("samples"), 120);
  const auto metrics = run.Summary().at("test_metrics");
  EXPECT_DOUBLE_EQ(metrics.at("perplexity"), std::exp(metrics.at("loss").get<double>()));
}

// The labels of the first two steps are all ignored.
TEST(Trainer, ACheckpointBeforeTheFirstUpdateHasAllVariables) {
  for (const char* mode : {"graph", "pynative"}) {
    for (const char* accumulate : {"1", "2"}) {
      const RunCase run(
          "data: {type: csv, path: rows.csv, batch: 1, shuffle: false}\nnetwork: {layers: [{linear: {out: 2}}]}\n"
          "loss: {type: softmax_cross_entropy, ignore_index: 0}\noptimizer: {type: adam}\n");
      testing_support::WriteFile(run.folder() / "rows.csv", "1,2,0\n3,1,0\n2,2,0\n1,1,0\n0,2,1\n1,0,1\n");
      const std::vector<std::string> settings = {"mode=" + std::string(mode), "train.epochs=1", "checkpoint.steps=1",
                                                 "train.accumulate=" + std::string(accumulate), "train.ema=0.5"};
      ASSERT_EQ(run.Train(settings).exit_code, 0);
      const std::string end = run.Checkpoint(std::string("1_") + (accumulate[0] == '1' ? "6" : "3"));
      ASSERT_FALSE(end.empty());
      const std::string first = run.folder() / "first.ckpt";
      std::vector<std::string> one = settings;
      one.push_back("train.steps=1");
      ASSERT_EQ(run.Train(one).exit_code, 0);
      testing_support::WriteFile(first, run.Checkpoint("1_1"));
      const ToolResult resumed = run.Train(settings, {"--resume", first});
      ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
      EXPECT_TRUE(run.Checkpoint(std::string("1_") + (accumulate[0] == '1' ? "6" : "3")) == end) << mode;
    }
  }
}

// The moments belong to the program that updates, the sums to the one that reads batches.
TEST(Trainer, ADryRunCountsTheMemoryOfAllProgramsOfAStep) {
  const RunCase run(kSections);
  const std::vector<std::string> settings = {"train.accumulate=2", "optimizer={type: adam}"};
  const ToolResult dry = run.Train(settings, {"--dry-run"});
  ASSERT_EQ(dry.exit_code, 0) << dry.err;
  const auto number_behind = [&](const std::string& words) {
    const std::size_t at = dry.out.find(words);
    EXPECT_NE(at, std::string::npos) << dry.out;
    return at == std::string::npos ? "" : dry.out.substr(at + words.size(), 5);
  };
  EXPECT_EQ(number_behind("; plan "), number_behind("device memory "));
  ASSERT_EQ(run.Train(settings).exit_code, 0);
  EXPECT_NEAR(run.Summary().at("plan_mb").get<double>(), std::stod(number_behind("device memory ")), 0.006);
  const ToolResult eager = run.Train({"mode=pynative"}, {"--dry-run"});
  EXPECT_NE(eager.out.find("no plan of memory in mode pynative"), std::string::npos) << eager.out;
}

TEST(Trainer, TooManyThreadsPointAtTheirKey) {
  const RunCase run(std::string(kSections) + "threads: 4000\n");
  const ToolResult result = run.Train();
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.err.find("run.yaml:8:10: error: 4000 compute threads"), std::string::npos) << result.err;
}

TEST(Trainer, RegressionHasItsMetrics) {
  const RunCase run("data: {type: csv, path: " TENON_SOURCE_DIR
                    "/tests/errors/train/values.csv, split: {test: every_3}, batch: 4}\nnetwork: {layers: [{linear: "
                    "{out: 1}}]}\nloss: mse\neval: {metrics: [loss, mae, mse]}\ntrain: {epochs: 1}\n");
  const ToolResult result = run.Train();
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto metrics = run.Summary().at("test_metrics");
  EXPECT_NEAR(metrics.at("mse").get<double>(), metrics.at("loss").get<double>(),
              1e-5 * metrics.at("loss").get<double>());
  EXPECT_GT(metrics.at("mae"), 0.0);
}

// A value that only the plugin knows to be wrong is a fault of the file all the same.
TEST(Trainer, AnOptionThatThePluginRefusesIsWrongInput) {
  const RunCase run(kSections);
  const ToolResult result = run.Train({"plugins.load=[{name: device_cpu, options: {isa: avx3}}]"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.err.find("error: TN-PLG-084 device_cpu.so: org.tenon.device_cpu "), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("refuses its options: Option isa is 'avx3'"), std::string::npos) << result.err;
}

}  // namespace
}  // namespace tenon
