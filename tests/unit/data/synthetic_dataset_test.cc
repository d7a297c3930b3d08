#include "core/data/synthetic_dataset.h"

#include <gtest/gtest.h>

#include <vector>

namespace tenon {
namespace {

TEST(Synthetic, ImagesAreTheSameForTheSameSeedAndSaySo) {
  SyntheticOptions options;
  options.samples = 100;
  options.classes = 4;
  options.image = Shape{1, 3, 3};
  options.seed = 7;
  const auto data = SyntheticDataset::Create(options);
  ASSERT_TRUE(data.ok()) << data.status().ToString();
  EXPECT_EQ((*data)->description(), "synthetic images [1,3,3] (made up, seed 7)");
  std::vector<float> a(18);
  std::vector<float> b(9);
  std::vector<std::int64_t> labels(2);
  ASSERT_TRUE((*data)->ReadBatch(std::vector<std::int64_t>{5, 6}, a.data(), labels.data()).ok());
  EXPECT_EQ(labels, (std::vector<std::int64_t>{1, 2}));
  options.first = 6;
  ASSERT_TRUE((*SyntheticDataset::Create(options))->ReadBatch(std::vector<std::int64_t>{0}, b.data(), nullptr).ok());
  EXPECT_EQ(std::vector<float>(a.begin() + 9, a.end()), b);
  for (const float value : a) EXPECT_TRUE(value >= 0 && value < 1);
  options.seed = 8;
  std::vector<float> c(9);
  ASSERT_TRUE((*SyntheticDataset::Create(options))->ReadBatch(std::vector<std::int64_t>{0}, c.data(), nullptr).ok());
  EXPECT_NE(b, c);
  // Samples of one class are nearer to each other than to those of another.
  const auto distance = [&](std::int64_t i, std::int64_t k) {
    std::vector<float> x(18);
    EXPECT_TRUE((*data)->ReadBatch(std::vector<std::int64_t>{i, k}, x.data(), nullptr).ok());
    float sum = 0;
    for (std::size_t j = 0; j < 9; ++j) sum += (x[j] - x[j + 9]) * (x[j] - x[j + 9]);
    return sum;
  };
  EXPECT_LT(distance(0, 4), distance(0, 1));
  EXPECT_LT(distance(1, 5), distance(1, 2));
}

TEST(Synthetic, TokensFollowEachOther) {
  SyntheticOptions options;
  options.samples = 10;
  options.classes = 0;
  options.vocab = 50;
  options.length = 20;
  const auto data = SyntheticDataset::Create(options);
  ASSERT_TRUE(data.ok());
  EXPECT_EQ((*data)->classes(), 50);
  EXPECT_EQ((*data)->layout().label_shape, (Shape{20}));
  std::vector<std::int64_t> tokens(20);
  std::vector<std::int64_t> labels(20);
  ASSERT_TRUE((*data)->ReadBatch(std::vector<std::int64_t>{3}, tokens.data(), labels.data()).ok());
  int by_rule = 0;
  for (std::size_t t = 0; t < 20; ++t) {
    EXPECT_TRUE(tokens[t] >= 0 && tokens[t] < 50);
    if (t > 0) {
      EXPECT_EQ(labels[t - 1], tokens[t]);
    }
    by_rule += labels[t] == (5 * tokens[t] + 7) % 50;
  }
  EXPECT_GE(by_rule, 10);
  options.classes = 3;
  const auto classed = SyntheticDataset::Create(options);
  std::int64_t label = -1;
  ASSERT_TRUE((*classed)->ReadBatch(std::vector<std::int64_t>{5}, nullptr, &label).ok());
  EXPECT_EQ(label, 2);
  EXPECT_TRUE(CheckLabels(**classed, 3).ok());
  EXPECT_EQ(CheckLabels(**classed, 2).ToString(),
            "synthetic sample 2: error: The label of sample 2 is 2, but with 2 classes it must be between 0 and 1.");
}

TEST(Synthetic, RefusesNonsense) {
  SyntheticOptions options;
  EXPECT_EQ(SyntheticDataset::Create(options).status().message(),
            "Synthetic data needs a number of samples of at least 1, not 0.");
  options.samples = 1;
  EXPECT_EQ(SyntheticDataset::Create(options).status().message(),
            "Synthetic data needs an image shape, or tokens with a vocabulary and a length of at least 1 (they are 0 "
            "and 0).");
  options.image = Shape{1, 0};
  EXPECT_EQ(SyntheticDataset::Create(options).status().message(), "Synthetic images of shape [1,0] have no values.");
  options.classes = 0;
  EXPECT_EQ(SyntheticDataset::Create(options).status().message(), "Synthetic data needs at least 1 class, not 0.");
}

}  // namespace
}  // namespace tenon
