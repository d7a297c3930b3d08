// What the keys of `data` do to a run: label vectors, mixed samples, padded lines, the vocabulary of a text.
#include <gtest/gtest.h>

#include "tests/e2e/run_case.h"

namespace tenon {
namespace {

using testing_support::RunCase;
using testing_support::ToolResult;
using testing_support::WriteFile;

constexpr const char* kImages =
    "data: {type: synthetic, samples: 60, classes: 3, image: {shape: [2, 6, 6]}, split: {test: every_5}, batch: 10}\n"
    "network: {layers: [flatten, {linear: {out: 3}}]}\neval: {metrics: [loss]}\ntrain: {epochs: 2}\n";

// A vector with 1 at the class has the cross entropy of the class: the definition of the loss.
TEST(DataKeys, LabelVectorsGiveTheLossOfTheirClasses) {
  const RunCase classes(kImages), vectors(kImages);
  ASSERT_EQ(classes.Train().exit_code, 0);
  const ToolResult result = vectors.Train({"data.transforms=[one_hot]"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NEAR(vectors.Summary().at("test_loss").get<double>(), classes.Summary().at("test_loss").get<double>(), 1e-6);
}

TEST(DataKeys, AugmentedRunsAreTheSameForAnyWorkersAndMode) {
  const std::string transforms = "data.transforms=[{random_crop: {size: 6, pad: 1}}, random_flip, one_hot, mixup]";
  std::string first;
  for (const char* other : {"data.workers=0", "data.workers=2", "data.workers=4", "mode=pynative"}) {
    const RunCase run(kImages);
    const ToolResult result = run.Train({transforms, other});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    const std::string weights = run.Summary().at("weights_sha256").get<std::string>();
    if (first.empty()) first = weights;
    EXPECT_EQ(weights, first) << other;
  }
}

TEST(DataKeys, PaddedLinesAndTheVocabularyOfARun) {
  const std::string sections =
      "data: {type: text, path: t.txt, tokens: {lines: true}, buckets: [4, 9], batch: 2, split: {test: every_5}}\n"
      "network: {layers: [{embedding: {rows: 8, dim: 4}}, {linear: {out: 8}}]}\n"
      "loss: {type: softmax_cross_entropy, ignore_index: -100}\neval: {metrics: [loss]}\ntrain: {epochs: 2}\n";
  const RunCase run(sections);
  WriteFile(run.folder() / "t.txt", "ab\nabc\nabcabc\nb\nabcab\naa\ncab\nabcabcab\n");
  const ToolResult result = run.Train();
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(testing_support::ReadFile(run.output() + "/vocabulary.txt"),
            "characters 4\nU+000A\nU+0061\nU+0062\nU+0063\n");
  WriteFile(run.folder() / "t.txt", "ad\nadc\nadcadc\nd\nadcad\naa\ncad\nadcadcad\n");
  const ToolResult other = run.Train({"train.epochs=3"}, {"--resume"});
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_NE(other.err.find("number 2 is 'b' (U+0062) in one and 'c' (U+0063) in the other."), std::string::npos)
      << other.err;
}

constexpr const char* kLines =
    "data: {type: text, path: t.txt, tokens: {lines: true, length: 12}, batch: 2, split: {test: every_5}}\n"
    "network: {zoo: gpt, args: {vocab: 8, width: 8, layers: 1, heads: 2, dropout: 0.1}}\n"
    "optimizer: {type: adam, lr: 0.01}\nloss: {type: softmax_cross_entropy, ignore_index: -100}\n"
    "eval: {metrics: [loss]}\n";
constexpr const char* kText = "ab\nabc\nabcabc\nb\nabcab\naa\ncab\nabcabcab\nabca\nbbb\n";

// The table of learned positions is that of the longest batch, whatever batch is the first.
TEST(DataKeys, LinesOfAnyLengthLearnPositions) {
  for (const char* mode : {"graph", "pynative"}) {
    for (const char* buckets : {"[]", "[4, 9]"}) {
      const std::vector<std::string> settings = {std::string("mode=") + mode, std::string("data.buckets=") + buckets};
      auto all = settings, some = settings;
      all.push_back("train.epochs=3");
      some.insert(some.end(), {"train.epochs=3", "train.steps=6"});
      const RunCase straight(kLines), halves(kLines);
      for (const RunCase* run : {&straight, &halves}) WriteFile(run->folder() / "t.txt", kText);
      const ToolResult result = straight.Train(all);
      ASSERT_EQ(result.exit_code, 0) << result.err;
      ASSERT_EQ(halves.Train(some).exit_code, 0);
      ASSERT_EQ(halves.Train(all, {"--resume"}).exit_code, 0);
      EXPECT_EQ(straight.Summary().at("steps"), halves.Summary().at("steps"));
      EXPECT_EQ(straight.Summary().at("weights_sha256"), halves.Summary().at("weights_sha256")) << mode << buckets;
      EXPECT_EQ(straight.Summary().at("test_loss"), halves.Summary().at("test_loss")) << mode << buckets;
    }
  }
}

TEST(DataKeys, EncodersLearnPositionsOfLinesToo) {
  const RunCase run(
      "data: {type: text, path: t.txt, tokens: {lines: true, length: 12}, batch: 2}\n"
      "network: {layers: [{embedding: {rows: 8, dim: 8}}, position, {transformer_block: {heads: 2}}, {linear: {out: "
      "8}}]}\n"
      "loss: {type: softmax_cross_entropy, ignore_index: -100}\ntrain: {epochs: 1}\n");
  WriteFile(run.folder() / "t.txt", kText);
  const ToolResult result = run.Train({"checkpoint.format=safetensors"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
}

// Labels of padding must be left out of the loss; where no line is shorter than its batch there are none.
TEST(DataKeys, PaddingNeedsALossThatLeavesItOut) {
  const RunCase run(kLines);
  WriteFile(run.folder() / "t.txt", kText);
  const std::vector<std::string> loss = {"loss=softmax_cross_entropy", "train.epochs=1"};
  for (const char* more : {"data.buckets=[]", "data.buckets=[9]"}) {
    const ToolResult result = run.Train({loss[0], loss[1], more}, {"--dry-run"});
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_NE(result.err.find("Write loss.ignore_index: -100 to leave them out."), std::string::npos) << result.err;
  }
  for (const char* more : {"data.batch=1", "data.buckets=[1, 2, 3, 4, 5, 6, 8]", "data.pad.label=0"}) {
    const ToolResult result = run.Train({loss[0], loss[1], more}, {"--dry-run"});
    EXPECT_EQ(result.exit_code, 0) << more << result.err;
  }
}

// A weight whose shape follows the length of the first batch would not fit the next one.
TEST(DataKeys, AWeightThatDependsOnTheLengthIsRefusedBeforeTheRun) {
  const RunCase run(
      "data: {type: text, path: t.txt, tokens: {lines: true, length: 12}, batch: 2}\n"
      "network: {layers: [{embedding: {rows: 8, dim: 8}}, {transpose: {perm: [0, 2, 1]}}, {linear: {out: 8, name: "
      "mix}}]}\n"
      "loss: {type: softmax_cross_entropy, ignore_index: -100}\ntrain: {epochs: 1}\n");
  WriteFile(run.folder() / "t.txt", kText);
  const ToolResult result = run.Train();
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(
      result.err.find("'mix.weight' is [8,8] for samples of 8 tokens but [8,1] for samples of 1. data.buckets: [8] "
                      "makes all batches as long."),
      std::string::npos)
      << result.err;
  EXPECT_EQ(run.Train({"data.buckets=[8]"}).exit_code, 0);
}

}  // namespace
}  // namespace tenon
