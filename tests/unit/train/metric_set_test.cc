// Metrics of evaluations. Expected values: the definitions, worked out by hand for these few samples; the F1 scores are
// those of sklearn.metrics.f1_score with average "macro" and "micro".
#include "core/train/metric_set.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/train/metric_name.h"

namespace tenon {
namespace {

// Six samples of three classes; predictions 0 0 1 2 2 1 against labels 0 1 1 2 0 1.
struct Classes {
  Tensor output = Tensor::Of<float>(Shape{6, 3}, {3, 2, 1,    // 0
                                                  5, 4, 0,    // 0, the label is second
                                                  0, 9, 1,    // 1
                                                  1, 2, 3,    // 2
                                                  1, 2, 3,    // 2, the label is last
                                                  0, 2, 2});  // 1: the first of equal ones
  Batch batch;
  Classes() {
    batch.labels = Tensor::Of<std::int64_t>(Shape{6}, {0, 1, 1, 2, 0, 1});
    batch.count = 6;
  }
  StepRunner::Evaluation result() const { return {0.5, &output}; }
};

std::map<std::string, double> Measure(const std::vector<std::string>& names) {
  const Classes classes;
  MetricSet set(names);
  EXPECT_TRUE(set.Add(classes.result(), classes.batch, 6).ok());
  return set.Values();
}

TEST(MetricSet, CountsWhatIsRight) {
  const auto values = Measure({"loss", "accuracy", "top_1", "top_2", "top_3", "perplexity"});
  EXPECT_DOUBLE_EQ(values.at("loss"), 0.5);
  EXPECT_DOUBLE_EQ(values.at("perplexity"), std::exp(0.5));
  EXPECT_DOUBLE_EQ(values.at("accuracy"), 4.0 / 6);
  EXPECT_DOUBLE_EQ(values.at("top_1"), 4.0 / 6);
  EXPECT_DOUBLE_EQ(values.at("top_2"), 5.0 / 6);
  EXPECT_DOUBLE_EQ(values.at("top_3"), 1.0);
}

// Class 0: precision 1/2, recall 1/2; class 1: 1, 2/3; class 2: 1/2, 1. F1: 0.5, 0.8, 2/3.
// Losses 0.5 and 2 of batches that count 3 and 1; a third counts nothing.
TEST(MetricSet, WeighsLossesByWhatBatchesCount) {
  const Classes classes;
  MetricSet set({"loss"});
  ASSERT_TRUE(set.Add({0.5, &classes.output}, classes.batch, 3).ok());
  ASSERT_TRUE(set.Add({2.0, &classes.output}, classes.batch, 1).ok());
  ASSERT_TRUE(set.Add({std::nan(""), &classes.output}, classes.batch, 0).ok());
  EXPECT_DOUBLE_EQ(set.Values().at("loss"), 0.875);
}

// Class 1 does not count: three of the six samples are left, predicted 0, 2 and 2 against 0, 2 and 0.
TEST(MetricSet, LeavesOutTheIgnoredLabel) {
  const Classes classes;
  MetricSet set({"accuracy", "top_2", "f1_macro", "confusion_matrix"}, 3, 1);
  ASSERT_TRUE(set.Add(classes.result(), classes.batch, 3).ok());
  EXPECT_DOUBLE_EQ(set.Values().at("accuracy"), 2.0 / 3);
  EXPECT_DOUBLE_EQ(set.Values().at("top_2"), 2.0 / 3);
  EXPECT_DOUBLE_EQ(set.Values().at("f1_macro"), 2.0 / 3);
  EXPECT_EQ(set.matrix().ToCsv(), "label,0,1,2\n0,1,0,1\n1,0,0,0\n2,0,0,1\n");
}

TEST(MetricSet, F1AndConfusionMatrix) {
  const auto values = Measure({"f1_macro", "f1_micro"});
  EXPECT_NEAR(values.at("f1_macro"), (0.5 + 0.8 + 2.0 / 3) / 3, 1e-12);
  EXPECT_NEAR(values.at("f1_micro"), 4.0 / 6, 1e-12);
  const Classes classes;
  MetricSet set({"confusion_matrix"});
  ASSERT_TRUE(set.Add(classes.result(), classes.batch, 6).ok());
  ASSERT_TRUE(set.Add(classes.result(), classes.batch, 6).ok());
  EXPECT_EQ(set.matrix().ToCsv(), "label,0,1,2\n0,2,0,2\n1,2,4,0\n2,0,0,2\n");
  EXPECT_EQ(set.matrix().samples(), 12);
  EXPECT_EQ(set.matrix().right(), 8);
  EXPECT_TRUE(set.Values().empty());
}

// A class that is neither labelled nor predicted does not count.
TEST(MetricSet, MacroF1PassesOverAbsentClasses) {
  ConfusionMatrix matrix{3, {2, 0, 0, 0, 0, 0, 1, 0, 1}};
  EXPECT_NEAR(matrix.MacroF1(), (0.8 + 2.0 / 3) / 2, 1e-12);
}

TEST(MetricSet, ReadsClassesOnEitherAxisOfASequence) {
  // Two positions, three classes: [1, classes, positions] and [1, positions, classes] with the same scores.
  const Tensor first = Tensor::Of<float>(Shape{1, 3, 2}, {1, 5, 9, 0, 2, 7});
  const Tensor last = Tensor::Of<float>(Shape{1, 2, 3}, {1, 9, 2, 5, 0, 7});
  Batch batch;
  batch.labels = Tensor::Of<std::int64_t>(Shape{1, 2}, {1, 0});
  batch.count = 1;
  for (const Tensor* output : {&first, &last}) {
    MetricSet set({"accuracy", "top_2"});
    ASSERT_TRUE(set.Add({0.0, output}, batch, 1).ok());
    EXPECT_DOUBLE_EQ(set.Values().at("accuracy"), 0.5);
    EXPECT_DOUBLE_EQ(set.Values().at("top_2"), 1.0);
  }
}

TEST(MetricSet, LabelsBelowZeroArePassedOver) {
  const Tensor output = Tensor::Of<float>(Shape{2, 2}, {1, 0, 1, 0});
  Batch batch;
  batch.labels = Tensor::Of<std::int64_t>(Shape{2}, {-100, 0});
  batch.count = 2;
  MetricSet set({"accuracy"});
  ASSERT_TRUE(set.Add({0.0, &output}, batch, 1).ok());
  EXPECT_DOUBLE_EQ(set.Values().at("accuracy"), 1.0);
  batch.labels = Tensor::Of<std::int64_t>(Shape{2}, {2, 0});
  EXPECT_EQ(set.Add({0.0, &output}, batch, 1).message(), "A label is 2; the network has 2 classes.");
}

TEST(MetricSet, DifferencesOfValues) {
  const Tensor output = Tensor::Of<float>(Shape{3, 1}, {1, 2, 4});
  Batch batch;
  batch.labels = Tensor::Of<float>(Shape{3}, {0, 2, 7});
  batch.count = 3;
  MetricSet set({"mae", "mse"});
  ASSERT_TRUE(set.Add({0.0, &output}, batch, 1).ok());
  EXPECT_DOUBLE_EQ(set.Values().at("mae"), 4.0 / 3);
  EXPECT_DOUBLE_EQ(set.Values().at("mse"), 10.0 / 3);
}

TEST(MetricName, KnowsTopK) {
  EXPECT_EQ(TopKOf("top_5"), 5);
  EXPECT_EQ(TopKOf("top_12"), 12);
  for (const char* name : {"top_", "top_0", "top_05", "top_-1", "top_5x", "tops_5", "accuracy"})
    EXPECT_EQ(TopKOf(name), std::nullopt) << name;
  EXPECT_TRUE(LowerIsBetter("perplexity"));
  EXPECT_FALSE(LowerIsBetter("top_5"));
}

}  // namespace
}  // namespace tenon
