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

}  // namespace
}  // namespace tenon
