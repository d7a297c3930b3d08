#include "core/data/batch_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "core/data/open_data.h"
#include "tests/unit/data/data_files.h"

namespace tenon {
namespace {

using Rows = std::vector<std::int64_t>;

// Samples of lengths 1, 2, ... 10, 1, 2, ...
class Lengths final : public Dataset {
 public:
  explicit Lengths(std::int64_t size) : size_(size) { layout_.shape = Shape{10}; }
  std::int64_t size() const override { return size_; }
  const SampleLayout& layout() const override { return layout_; }
  std::int64_t classes() const override { return 0; }
  Status ReadBatch(std::span<const std::int64_t>, void*, void*) const override { return {}; }
  bool varies() const override { return true; }
  std::int64_t Length(std::int64_t index) const override { return index % 10 + 1; }
  std::string Place(std::int64_t index) const override { return fmt::format("sample {}", index); }
  std::string description() const override { return "lengths"; }

 private:
  std::int64_t size_;
  SampleLayout layout_;
};

Result<BatchPlan> Plan(std::int64_t size, bool shuffle, const BatchPlan::Options& options) {
  Rows rows(static_cast<std::size_t>(size));
  std::iota(rows.begin(), rows.end(), 0);
  return BatchPlan::Create(std::make_shared<Lengths>(size), Sampler(std::make_shared<const Rows>(rows), {shuffle, 3}),
                           options);
}

TEST(BatchPlan, WithoutBucketsABatchIsAsLongAsItsLongestSample) {
  const auto plan = Plan(25, false, {4, false, {}});
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->steps(), 7);
  EXPECT_EQ(plan->Length(0), 4);
  EXPECT_EQ(plan->Length(2), 10);
  EXPECT_EQ(plan->Indices(6).size(), 1u);
  EXPECT_EQ(plan->Length(6), 5);
}

TEST(BatchPlan, EveryBatchIsOfOneBucket) {
  auto plan = Plan(100, true, {8, false, {3, 7, 10}});
  ASSERT_TRUE(plan.ok()) << plan.status().ToString();
  // 30, 40 and 30 samples: 4, 5 and 4 batches.
  EXPECT_EQ(plan->steps(), 13);
  EXPECT_EQ(plan->samples(), 100);
  Rows epochs[2];
  for (std::int64_t epoch = 0; epoch < 2; ++epoch) {
    plan->SetEpoch(epoch);
    std::map<std::int64_t, std::int64_t> batches;
    for (std::int64_t step = 0; step < plan->steps(); ++step) {
      const std::int64_t length = plan->Length(step), shorter = length == 3 ? 0 : length == 7 ? 3 : 7;
      ++batches[length];
      for (const std::int64_t sample : plan->Indices(step)) {
        EXPECT_TRUE(sample % 10 + 1 <= length && sample % 10 + 1 > shorter) << sample;
        epochs[epoch].push_back(sample);
      }
    }
    EXPECT_EQ(batches, (std::map<std::int64_t, std::int64_t>{{3, 4}, {7, 5}, {10, 4}}));
  }
  EXPECT_NE(epochs[0], epochs[1]);
  std::sort(epochs[0].begin(), epochs[0].end());
  std::sort(epochs[1].begin(), epochs[1].end());
  EXPECT_EQ(epochs[0], epochs[1]);
  EXPECT_EQ(std::unique(epochs[0].begin(), epochs[0].end()), epochs[0].end());
}

TEST(BatchPlan, DropLastLeavesOutWhatIsLeftOfEachBucket) {
  const auto plan = Plan(100, true, {8, true, {3, 7, 10}});
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->steps(), 3 + 5 + 3);
  EXPECT_EQ(plan->samples(), 88);
}

TEST(BatchPlan, ALongerSampleIsNamed) {
  EXPECT_EQ(Plan(20, false, {4, false, {3, 9}}).status().ToString(),
            "sample 9: error: The sample has 10 tokens; the longest of the 'buckets' is 9.");
}

TEST(Buckets, SamplesOfOneSizeHaveNone) {
  DataConfig config;
  config.type = "synthetic";
  config.samples = 20;
  config.tokens = TokensConfig{.vocab = 9, .length = 8};
  config.buckets = {64};
  const auto source = OpenData(config, {});
  ASSERT_FALSE(source.ok());
  EXPECT_EQ(source.status().message(), "Length buckets need samples of different length; these are all of one size.");
}

TEST(Buckets, BatchesArePaddedToTheirBucket) {
  const testing::Folder folder;
  DataConfig config;
  config.type = "text";
  config.path.resolved = folder.Write("t.txt", "a\nbb\nabab\nb\naba\nbbaab\na\n");
  config.path.text = config.path.resolved.string();
  config.tokens = TokensConfig{.length = 10, .lines = true};
  config.buckets = {2, 6};
  config.batch = 2;
  std::vector<Rows> expected;
  for (const std::int64_t workers : {0, 1, 2, 4}) {
    config.workers = workers;
    const auto source = OpenData(config, {});
    ASSERT_TRUE(source.ok()) << source.status().ToString();
    EXPECT_EQ(source->layout().shape, Shape{6});
    const auto loader = source->TrainLoader();
    ASSERT_TRUE(loader.ok());
    ASSERT_TRUE((*loader)->Start(0).ok());
    std::vector<Rows> seen;
    while (true) {
      const auto batch = (*loader)->Next();
      ASSERT_TRUE(batch.ok()) << batch.status().ToString();
      if (!*batch) break;
      const Tensor& samples = (*batch)->samples;
      EXPECT_TRUE(samples.shape().dim(1) == 2 || samples.shape().dim(1) == 6);
      EXPECT_EQ(samples.shape(), (*batch)->labels.shape());
      for (const Tensor* tensor : {&samples, &(*batch)->labels})
        seen.emplace_back(tensor->data<std::int64_t>(), tensor->data<std::int64_t>() + tensor->elements());
    }
    if (workers == 0) expected = seen;
    EXPECT_EQ(seen, expected) << workers;
    EXPECT_EQ(seen.size(), 2u * 4);  // 4 short lines: 2 batches, 3 long ones: 2
  }
}

}  // namespace
}  // namespace tenon
