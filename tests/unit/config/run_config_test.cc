#include "core/train/run_config.h"

#include <gtest/gtest.h>

#include "core/train/layer_reference.h"
#include "tests/support/temp_folder.h"

namespace tenon {
namespace {

namespace fs = std::filesystem;

constexpr const char* kMinimal = "data: {type: csv, path: a.csv}\nnetwork: {zoo: lenet5}\n";

Result<RunConfig> Read(const std::string& text, RunConfigPart part = RunConfigPart::kAll) {
  const auto root = LoadConfigText(text, "folder/run.yaml", "/folder", [](const std::string&) { return std::nullopt; });
  if (!root.ok()) return root.status();
  return ReadRunConfig(*root, part);
}

TEST(RunConfig, HasTheDocumentedDefaults) {
  const auto run = Read(kMinimal);
  ASSERT_TRUE(run.ok()) << run.status().ToString();
  EXPECT_EQ(run->name, "run");
  EXPECT_EQ(run->output.text, "runs/run");
  EXPECT_EQ(run->device, "cpu");
  EXPECT_EQ(run->mode, RunMode::kGraph);
  EXPECT_EQ(run->fallback, FallbackPolicy::kForbid);
  EXPECT_EQ(run->threads, 1);
  EXPECT_STREQ(KindOf(run->loss), "softmax_cross_entropy");
  EXPECT_STREQ(KindOf(run->optimizer), "sgd");
  EXPECT_STREQ(KindOf(run->schedule), "constant");
  EXPECT_EQ(run->data.batch, 32);
  EXPECT_TRUE(run->data.shuffle);
  EXPECT_EQ(run->data.path.resolved, "/folder/a.csv");
  EXPECT_EQ(run->data.path.text, "a.csv");
  EXPECT_EQ(std::get<LeNet5Config>(*run->network.zoo).num_classes, 10);
  EXPECT_EQ(run->checkpoint.keep, 3);
  EXPECT_EQ(run->eval.metrics, (std::vector<std::string>{"loss", "accuracy"}));
  EXPECT_EQ(PlaceOf(run->source, "data.path").ToString(), "folder/run.yaml:1:25");
}

TEST(RunConfig, AllSpellingsOfARateAreAlike) {
  for (const char* lr : {"1e-4", "1E-4", "1.0e-4", ".0001", "1.e-4", "+1e-4"}) {
    const auto run = Read(std::string(kMinimal) + "optimizer: {lr: " + lr + "}\ntrain: {epochs: 1e1}\n");
    ASSERT_TRUE(run.ok()) << run.status().ToString();
    EXPECT_EQ(LearningRate(run->optimizer), 1e-4);
    EXPECT_EQ(run->train.epochs, 10);
  }
}

// A map that leaves the level out means what the dtype alone means.
TEST(RunConfig, AmpWithoutALevelIsO2) {
  const auto level = [](const std::string& amp) {
    const auto run = Read(kMinimal + amp);
    EXPECT_TRUE(run.ok()) << run.status().ToString();
    return run->amp.level;
  };
  EXPECT_EQ(level(""), AmpLevel::kO0);
  EXPECT_EQ(level("amp: fp16\n"), AmpLevel::kO2);
  EXPECT_EQ(level("amp: {dtype: fp16}\n"), AmpLevel::kO2);
  EXPECT_EQ(level("amp: {keep: [Conv]}\n"), AmpLevel::kO2);
  EXPECT_EQ(level("amp: {level: O0, dtype: fp16}\n"), AmpLevel::kO0);
}

TEST(RunConfig, TheTypeChoosesTheOptions) {
  const auto run =
      Read(std::string(kMinimal) +
           "optimizer: {type: adamw, betas: [0.8, 0.9], eps: 1e-6}\nloss: mse\nschedule: {type: step, every: 3}\n");
  ASSERT_TRUE(run.ok()) << run.status().ToString();
  const auto& adamw = std::get<AdamWConfig>(run->optimizer);
  EXPECT_EQ(adamw.betas[0], 0.8);
  EXPECT_EQ(adamw.weight_decay, 0.01);
  EXPECT_TRUE(std::holds_alternative<MseConfig>(run->loss));
  EXPECT_EQ(std::get<StepScheduleConfig>(run->schedule).every, 3);
}

TEST(RunConfig, WordsAreTextInTextFields) {
  const auto run = Read(std::string(kMinimal) + "name: no\nplugins: {trust: off}\n");
  ASSERT_TRUE(run.ok()) << run.status().ToString();
  EXPECT_EQ(run->name, "no");
  EXPECT_EQ(run->plugins.trust, TrustPolicy::kOff);
}

TEST(RunConfig, PluginEntriesHaveTwoForms) {
  const auto run = Read(std::string(kMinimal) +
                        "plugins:\n  search: [./mine, /abs]\n  load: [device_cpu, ./x.so, {name: y, required: true},\n"
                        "         {path: z/z.so, options: {level: 2}}]\n  pin: {a.b: x.so}\n  priority: {a.b: 3}\n");
  ASSERT_TRUE(run.ok()) << run.status().ToString();
  const PluginsConfig& plugins = run->plugins;
  EXPECT_EQ(plugins.search, (std::vector<std::string>{"/folder/mine", "/abs"}));
  ASSERT_EQ(plugins.load.size(), 4u);
  EXPECT_EQ(plugins.load[0].name, "device_cpu");
  EXPECT_EQ(plugins.load[1].path, "/folder/x.so");
  EXPECT_TRUE(plugins.load[2].required);
  EXPECT_EQ(plugins.load[3].path, "/folder/z/z.so");
  EXPECT_EQ(plugins.load[3].options.Find("level")->text(), "2");
  EXPECT_EQ(plugins.pin.at("a.b"), "/folder/x.so");
  EXPECT_EQ(plugins.priority.at("a.b"), 3);
  EXPECT_EQ(plugins.file, "folder/run.yaml");
}

TEST(RunConfig, PathsOfOverridesStartFromTheCurrentFolder) {
  ConfigSource source;
  source.path = "configs/train/lenet_digits.yaml";
  source.overrides = {"data.path=data/optdigits.csv.gz", "output=out"};
  const auto run = LoadRunConfig(source);
  ASSERT_TRUE(run.ok()) << run.status().ToString();
  EXPECT_EQ(run->data.path.resolved, fs::current_path() / "data/optdigits.csv.gz");
  EXPECT_EQ(run->output.resolved, "out");
  EXPECT_EQ(run->data.path.place.ToString(), "--set data.path=data/optdigits.csv.gz");
}

TEST(RunConfig, TransformsHaveThreeForms) {
  const auto run = Read(
      "data: {type: csv, path: a.csv, transforms: [one_hot, {random_crop: {size: 3}}, {type: normalize, std: [2, "
      "3]}]}\n"
      "network: {zoo: mlp, args: {hidden: [3]}}\n");
  ASSERT_TRUE(run.ok()) << run.status().ToString();
  EXPECT_EQ(run->data.transforms.size(), 3u);
  EXPECT_EQ(std::get<RandomCropConfig>(run->data.transforms[1]).size.width, 3);
  EXPECT_EQ(std::get<NormalizeConfig>(run->data.transforms[2]).std[1], 3.0);
}

TEST(RunConfig, SplitIsARuleOrAFraction) {
  auto run = Read("data: {type: csv, path: a.csv, split: {test: every_5}}\nnetwork: {zoo: lenet5}\n");
  ASSERT_TRUE(run.ok()) << run.status().ToString();
  EXPECT_EQ(run->data.split.every, 5);
  run = Read("data: {type: csv, path: a.csv, split: {test: .2}}\nnetwork: {zoo: lenet5}\n");
  ASSERT_TRUE(run.ok()) << run.status().ToString();
  EXPECT_EQ(run->data.split.fraction, 0.2);
}

TEST(RunConfig, LayersStayAsTheyAre) {
  const auto run =
      Read("data: {type: csv, path: a.csv}\nnetwork:\n  layers:\n    - conv: {out: 6, kernel: 5}\n    - relu\n");
  ASSERT_TRUE(run.ok()) << run.status().ToString();
  EXPECT_FALSE(run->network.zoo);
  EXPECT_EQ(run->network.layers.items().size(), 2u);
  EXPECT_EQ(run->network.layers.items()[0].Find("conv")->Find("kernel")->place().ToString(), "folder/run.yaml:4:30");
}

TEST(RunConfig, CheckpointsCountEpochsOrSteps) {
  auto run = Read(std::string(kMinimal) + "checkpoint: {every: 2}\n");
  ASSERT_TRUE(run.ok()) << run.status().ToString();
  EXPECT_EQ(run->checkpoint.every, 2);
  EXPECT_FALSE(run->checkpoint.steps);
  for (const char* text : {"checkpoint: {every: {steps: 500}}\n", "checkpoint: {steps: 500}\n"}) {
    run = Read(kMinimal + std::string(text));
    ASSERT_TRUE(run.ok()) << run.status().ToString();
    EXPECT_EQ(run->checkpoint.steps, 500);
  }
}

// Printing and reading again changes nothing.
void ExpectStable(const RunConfig& run, const std::string& what) {
  const std::string printed = PrintRunConfig(run);
  const auto root = LoadConfigText(printed, "printed.yaml", "/elsewhere");
  ASSERT_TRUE(root.ok()) << what << root.status().ToString() << printed;
  const auto again = ReadRunConfig(*root, RunConfigPart::kPluginsOnly);
  ASSERT_TRUE(again.ok()) << what << again.status().ToString() << printed;
  EXPECT_EQ(PrintRunConfig(*again), printed) << what;
}

TEST(RunConfig, PrintsReadBackTheSame) {
  const std::string minimal = kMinimal;
  for (const std::string& text :
       {minimal, minimal + "name: \"12\"\noptimizer: {type: adam, lr: 0.1}\nschedule: cosine\ntrain: {steps: 7}\n",
        minimal + "plugins: {load: [a, ./b.so, {name: c, required: true, options: {x: ['1', 1, null, true]}}], trust: "
                  "warn}\n",
        std::string(
            "data: {type: npy, path: a, labels: b, test: {path: c, labels: d}, transforms: [one_hot, normalize]}\n"
            "network: {layers: [{conv: {out: 6, kernel: [5, 5], name: '1'}}, relu, {linear: {out: 10}}]}\n"),
        std::string("data: {type: synthetic, samples: 10, classes: 3, image: {shape: [4]}, split: {test: 0.25}}\n"
                    "network: {zoo: mlp, args: {hidden: []}}\ncheckpoint: {steps: 5}\neval: {metrics: []}\n"),
        std::string("data: {type: text, path: a, tokens: bytes}\nnetwork: {zoo: lenet5}\n"),
        std::string("data: {type: text, path: a, tokens: {lines: true}, buckets: [4, 9], pad: {value: 1}}\n"
                    "network: {zoo: lenet5}\n"),
        std::string("data: {type: synthetic, samples: 4, tokens: {vocab: 9}}\nnetwork: {zoo: lenet5}\n"),
        std::string("data: {type: cifar, path: a, transforms: [{random_crop: {size: 32, pad: 4}}, random_flip]}\n"
                    "network: {zoo: lenet5}\n"),
        std::string("data: {type: images, path: p, on_error: skip, image: {scale: 0.5}, transforms: "
                    "[{random_resized_crop: {size: 32}}, {center_crop: {size: [2, 3]}}, one_hot, mixup]}\n"
                    "network: {zoo: lenet5}\n")}) {
    const auto run = Read(text);
    ASSERT_TRUE(run.ok()) << run.status().ToString();
    ExpectStable(*run, text);
  }
}

TEST(RunConfig, ReadingNeverChangesTheTree) {
  const auto root = LoadConfigText(kMinimal, "run.yaml", "");
  ASSERT_TRUE(root.ok());
  const auto first = ReadRunConfig(*root);
  const auto second = ReadRunConfig(*root);
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(PrintRunConfig(*first), PrintRunConfig(*second));
}

TEST(RunConfig, EveryShippedFileLoads) {
  int count = 0;
  for (const auto& entry : fs::recursive_directory_iterator("configs")) {
    const fs::path folder = entry.path().parent_path().filename();
    if (entry.path().extension() != ".yaml" || folder == "launch") continue;  // those start a job, and are no runs
    const bool plugins_only = folder == "plugins";
    ConfigSource source;
    source.path = entry.path().string();
    const auto run = LoadRunConfig(source, plugins_only ? RunConfigPart::kPluginsOnly : RunConfigPart::kAll);
    ASSERT_TRUE(run.ok()) << run.status().ToString();
    if (!plugins_only) {
      EXPECT_EQ(run->name, entry.path().stem().string());
    }
    ExpectStable(*run, source.path);
    ++count;
  }
  EXPECT_GE(count, 7);
}

TEST(RunConfig, TheReferencePageIsUpToDate) {
  EXPECT_EQ(testing_support::ReadFile("docs/reference/config.md"), RunConfigSchemaMarkdown())
      << "Write it again: tenon config schema --markdown > docs/reference/config.md";
}

TEST(RunConfig, TheLayersPageIsUpToDate) {
  EXPECT_EQ(testing_support::ReadFile("docs/reference/layers.md"), LayersMarkdown())
      << "Write it again: tenon config schema --layers > docs/reference/layers.md";
}

TEST(RunConfig, TheSchemaNamesEveryKey) {
  const std::string schema = RunConfigSchemaJson();
  for (const char* key : {"\"optimizer\"", "\"betas\"", "\"global_average_pool\"", "every_N or a fraction",
                          "\"exclusiveMaximum\": 1.0", "\"default\": 32"}) {
    EXPECT_NE(schema.find(key), std::string::npos) << key;
  }
}

}  // namespace
}  // namespace tenon
