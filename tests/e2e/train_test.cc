// `tenon train` as a user runs it: what it writes, what it accepts, what the switches do.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/e2e/run_case.h"

namespace tenon {
namespace {

namespace fs = std::filesystem;
using testing_support::ReadFile;
using testing_support::RunCase;
using testing_support::RunTool;
using testing_support::ToolResult;
using testing_support::WriteFile;
using Names = std::vector<std::string>;

constexpr const char* kData =
    "data: {type: synthetic, samples: 60, classes: 3, image: {shape: [2, 6, 6]}, split: {test: every_5}, batch: 10}\n";
constexpr const char* kMlp = "network: {layers: [flatten, {linear: {out: 8}}, relu, {linear: {out: 3}}]}\n";

std::string Layers(const Names& layers) {
  std::string text = "network:\n  layers:\n";
  for (const std::string& layer : layers) text += "    - " + layer + "\n";
  return text;
}

RunCase Mlp(const std::string& more = "") { return RunCase(kData + std::string(kMlp) + "train: {epochs: 3}\n" + more); }

void ExpectTrains(const std::string& sections, const Names& settings = {}) {
  const RunCase run(sections);
  const ToolResult result = run.Train(settings);
  ASSERT_EQ(result.exit_code, 0) << sections << result.err;
  const auto losses = run.Summary().at("train_loss").get<std::vector<double>>();
  ASSERT_FALSE(losses.empty());
  EXPECT_LT(losses.back(), losses.front()) << sections;
}

TEST(Train, WritesItsFolder) {
  const RunCase run = Mlp();
  const ToolResult result = run.Train();
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  const Names files = run.Files();
  for (const char* name : {"config.yaml", "log.txt", "metrics.jsonl", "summary.json", "checkpoints"})
    EXPECT_NE(std::find(files.begin(), files.end(), name), files.end()) << name;
  EXPECT_EQ(run.Files("checkpoints"), (Names{"t-1_5.ckpt", "t-2_5.ckpt", "t-3_5.ckpt"}));
  EXPECT_EQ(run.Summary().at("status"), "ok");
  EXPECT_EQ(run.Summary().at("steps"), 15);
}

TEST(Train, TheResolvedConfigRunsAgainToTheSameBits) {
  const RunCase run = Mlp();
  ASSERT_EQ(run.Train({"optimizer.lr=3e-2"}).exit_code, 0);
  const std::string again = run.folder() / "again";
  ASSERT_EQ(RunTool({"tenon", "train", run.output() + "/config.yaml", "--output", again}).exit_code, 0);
  EXPECT_EQ(run.Checkpoint("3_5"), ReadFile(again + "/checkpoints/t-3_5.ckpt"));
}

TEST(Train, AnEarlierRunIsKept) {
  const RunCase run = Mlp();
  ASSERT_EQ(run.Train().exit_code, 0);
  const ToolResult second = run.Train();
  EXPECT_NE(second.out.find("was renamed to"), std::string::npos) << second.out;
  EXPECT_TRUE(fs::exists(run.output() + ".1/summary.json"));
  ASSERT_EQ(run.Train({"train.epochs=0"}).exit_code, 2);  // a refused run moves nothing
  EXPECT_FALSE(fs::exists(run.output() + ".2"));
}

TEST(Train, CheckpointSwitches) {
  const RunCase kept = Mlp();
  ASSERT_EQ(kept.Train({"checkpoint.keep=1", "checkpoint.format=safetensors"}).exit_code, 0);
  EXPECT_EQ(kept.Files("checkpoints"), (Names{"t-3_5.safetensors"}));
  const RunCase steps = Mlp();
  ASSERT_EQ(steps.Train({"checkpoint.steps=4", "checkpoint.keep=10"}).exit_code, 0);
  EXPECT_EQ(steps.Files("checkpoints"), (Names{"t-1_4.ckpt", "t-2_3.ckpt", "t-3_2.ckpt", "t-3_5.ckpt"}));
  const RunCase none = Mlp();
  ASSERT_EQ(none.Train({"checkpoint.every=0"}).exit_code, 0);
  EXPECT_FALSE(fs::exists(none.output() + "/checkpoints"));
}

TEST(Train, StepsAndEvaluation) {
  const RunCase run = Mlp();
  ASSERT_EQ(run.Train({"train.steps=7", "eval.every=0"}).exit_code, 0);
  EXPECT_EQ(run.Summary().at("steps"), 7);
  EXPECT_EQ(run.Files("checkpoints"), (Names{"t-1_5.ckpt", "t-2_2.ckpt"}));
  const std::string metrics = ReadFile(run.output() + "/metrics.jsonl");
  EXPECT_EQ(metrics.find("test_loss"), metrics.rfind("test_loss")) << metrics;
  EXPECT_NE(metrics.find("test_loss"), std::string::npos);
}

TEST(Train, PartialBatches) {
  const RunCase whole = Mlp(), dropped = Mlp(), large = Mlp();
  ASSERT_EQ(whole.Train({"data.batch=7"}).exit_code, 0);
  EXPECT_EQ(whole.Summary().at("steps"), 21);
  ASSERT_EQ(dropped.Train({"data.batch=7", "data.drop_last=true"}).exit_code, 0);
  EXPECT_EQ(dropped.Summary().at("steps"), 18);
  ASSERT_EQ(large.Train({"data.batch=1000"}).exit_code, 0);
  EXPECT_EQ(large.Summary().at("steps"), 3);
}

TEST(Train, DryRunWritesNothing) {
  const RunCase run = Mlp();
  const ToolResult result = run.Train({}, {"--dry-run"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.out.find("Dry run: nothing was trained."), std::string::npos);
  EXPECT_FALSE(fs::exists(run.output()));
  const ToolResult resumed = run.Train({}, {"--dry-run", "--resume"});
  EXPECT_EQ(resumed.exit_code, 2);
  EXPECT_FALSE(fs::exists(run.output()));
}

TEST(Train, SeedsInTurn) {
  const RunCase run = Mlp();
  const ToolResult result = run.Train({}, {"--repeat-seeds", "1,2, 3"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.out.find("test accuracy over 3 seeds: mean"), std::string::npos) << result.out;
  EXPECT_EQ(run.Files(), (Names{"seed_1", "seed_2", "seed_3"}));
}

TEST(Train, SavedGraphsCanBeRead) {
  const RunCase run(kData + Layers({"conv: {out: 2, kernel: 3}", "batch_norm", "relu", "max_pool: {kernel: 2}",
                                    "flatten", "dropout", "linear: {out: 3}"}));
  std::size_t fewer = 0;
  for (const char* level : {"1", "2", "3"}) {
    ASSERT_EQ(run.Train({"train.epochs=1", std::string("save_graphs=") + level}).exit_code, 0);
    const Names files = run.Files("graphs");
    EXPECT_GT(files.size(), fewer);
    fewer = files.size();
    for (const std::string& file : files) {
      if (file.find(".ir") == std::string::npos || (level[0] == '2' && file.rfind("12", 0) != 0)) continue;
      const ToolResult shown = RunTool({"tenon", "graph", "show", run.output() + "/graphs/" + file});
      EXPECT_EQ(shown.exit_code, 0) << file << "\n" << shown.err;
    }
  }
}

TEST(Train, PassesCanBeLeftOut) {
  const RunCase with = Mlp(), without = Mlp();
  ASSERT_EQ(with.Train().exit_code, 0);
  for (const char* one :
       {"fold_constants", "remove_unused", "remove_unused_gradients", "fuse_before_autodiff", "fuse_after_autodiff"}) {
    const RunCase run = Mlp();
    const ToolResult result = run.Train({std::string("passes.disabled=[") + one + "]"});
    EXPECT_EQ(result.exit_code, 0) << one << result.err;
  }
  ASSERT_EQ(without
                .Train({"passes.disabled=[fold_constants, remove_unused, remove_unused_gradients, "
                        "fuse_before_autodiff, fuse_after_autodiff]"})
                .exit_code,
            0);
  EXPECT_NEAR(with.Summary().at("test_loss").get<double>(), without.Summary().at("test_loss").get<double>(), 1e-5);
}

TEST(Train, TheSameThreadsGiveTheSameBits) {
  for (const char* threads : {"threads=0", "threads=1", "threads=2"}) {
    const RunCase a = Mlp(), b = Mlp();
    ASSERT_EQ(a.Train({threads}).exit_code, 0);
    ASSERT_EQ(b.Train({threads}).exit_code, 0);
    EXPECT_EQ(a.Checkpoint("3_5"), b.Checkpoint("3_5")) << threads;
  }
}

TEST(Train, EveryOptimizerAndSchedule) {
  for (const char* optimizer :
       {"{type: sgd, lr: 0.05}", "{type: sgd, lr: 0.02, momentum: 0.9, nesterov: true, weight_decay: 1e-4}",
        "{type: adam, lr: 0.005}", "{type: adamw, lr: 0.005}"})
    ExpectTrains(kData + std::string(kMlp) + "optimizer: " + optimizer + "\n", {"train.epochs=5"});
  for (const char* schedule : {"constant", "step", "cosine"})
    ExpectTrains(kData + std::string(kMlp),
                 {"train.epochs=5", std::string("schedule.type=") + schedule, "schedule.warmup_steps=3"});
}

TEST(Train, ValuesByMeanSquaredError) {
  const RunCase run("data: {type: csv, path: xy.csv, batch: 8}\nloss: {type: mse}\n" + Layers({"linear: {out: 1}"}) +
                    "optimizer: {lr: 0.05}\ntrain: {epochs: 60}\n");
  std::string rows;
  for (int i = 0; i < 32; ++i) rows += fmt::format("{},{},{}\n", i % 4, i % 5, 2 * (i % 4) - (i % 5) + 1);
  WriteFile(run.folder() / "xy.csv", rows);
  const ToolResult result = run.Train();
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_LT(run.Summary().at("train_loss").back().get<double>(), 0.05);
}

TEST(Train, NetworksOfAllForms) {
  // A residual connection and a concatenation, by name.
  ExpectTrains(
      kData + Layers({"conv: {out: 4, kernel: 3, pad: 1, name: a}", "relu", "conv: {out: 4, kernel: 3, pad: 1}",
                      "add: {input: [conv2, a]}", "relu: {name: sum}", "concat: {input: [sum, input], axis: 1}",
                      "global_average_pool", "flatten", "linear: {out: 3}"}),
      {"train.epochs=6", "optimizer.lr=0.1"});
  // Three axes through linear layers.
  ExpectTrains(kData + Layers({"reshape: {shape: [0, 2, 36]}", "transpose: {perm: [0, 2, 1]}", "linear: {out: 5}",
                               "tanh", "reduce_mean: {axes: [1]}", "linear: {out: 3}"}),
               {"train.epochs=6", "optimizer.lr=0.1"});
  // Any operator, with attributes and a second output by name.
  ExpectTrains(
      kData + Layers({"op: {type: MaxPool, attrs: {kernel_shape: [2, 2], strides: [2, 2]}, outputs: [best]}",
                      "flatten: {input: best}", "op: {type: LeakyRelu, attrs: {alpha: 1}}", "linear: {out: 3}"}),
      {"train.epochs=6", "optimizer.lr=0.1"});
}

TEST(Train, ALearningRateThatExplodesNamesTheStep) {
  const RunCase run = Mlp("optimizer: {lr: 1e30}\n");
  const ToolResult result = run.Train();
  EXPECT_EQ(result.exit_code, 1) << result.err;
  EXPECT_NE(result.err.find(" - While training step "), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("not finite"), std::string::npos) << result.err;
  EXPECT_EQ(run.Summary().at("status"), "failed");
}

TEST(Train, DataThatAreNotFiniteAreNamed) {
  const RunCase run("data: {type: csv, path: x.csv, batch: 4, image: {shape: [2], scale: 1e39}}\n" +
                    Layers({"linear: {out: 2}"}));
  WriteFile(run.folder() / "x.csv", "1,2,0\n3,4,1\n5,6,0\n7,8,1\n");
  const ToolResult result = run.Train();
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.err.find("The data are not finite"), std::string::npos) << result.err;
}

TEST(Train, OutputThatCannotBeUsed) {
  const RunCase run = Mlp();
  WriteFile(run.folder() / "file", "x");
  for (const std::string& path : {run.folder() / "file", run.folder() / "file/below", std::string("/proc/none"),
                                  run.folder() / std::string(300, 'x')}) {
    const ToolResult result = run.Train({}, {"--output", path});
    EXPECT_EQ(result.exit_code, 2) << path << "\n" << result.err;
    EXPECT_NE(result.err.find("error: "), std::string::npos);
  }
  EXPECT_EQ(ReadFile(run.folder() / "file"), "x");
}

}  // namespace
}  // namespace tenon
