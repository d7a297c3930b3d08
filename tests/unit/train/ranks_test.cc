// What the ranks of a run have in common: metrics, the output folder, the place in an epoch. Ranks are threads. Expected
// metrics are those of one set with all batches.
#include <gtest/gtest.h>

#include <filesystem>

#include "core/train/evaluation.h"
#include "core/train/run_folder.h"
#include "core/train/run_position.h"
#include "tests/support/rank_threads.h"
#include "tests/support/temp_folder.h"

namespace tenon {
namespace {

using testing_support::ReadFile;
using testing_support::RunOnRanks;
using testing_support::TempFolder;
using testing_support::WriteFile;

constexpr std::int64_t kClasses = 5, kBatches = 7;
const std::vector<std::string> kOfClasses = {"loss",  "perplexity", "accuracy", "top_2",
                                             "top_4", "f1_macro",   "f1_micro", "confusion_matrix"};

// Scores and labels that look like chance; -100 is passed over, and batch 3 has nothing else.
struct OneBatch {
  Tensor output;
  Batch batch;
  double loss = 0, weight = 0;
  explicit OneBatch(std::int64_t index) : output(DType::kF32, Shape{6 - index % 2, kClasses}) {
    const std::int64_t count = output.shape().dim(0);
    batch.labels = Tensor(DType::kI64, Shape{count});
    batch.count = count;
    for (std::int64_t i = 0; i < count; ++i) {
      const bool counts = index != 3 && (i + index) % 4 != 0;
      batch.labels.data<std::int64_t>()[i] = counts ? (3 * i + index * index) % kClasses : -100;
      weight += counts ? 1 : 0;
      for (std::int64_t c = 0; c < kClasses; ++c)
        output.data<float>()[i * kClasses + c] = std::sin(static_cast<float>(7 * i + 3 * c * c + 11 * index));
    }
    loss = weight > 0 ? 1.7 + std::cos(static_cast<double>(index)) / 3 : std::nan("");
  }
  void AddTo(MetricSet& set) const { EXPECT_TRUE(set.Add({loss, &output}, batch, weight).ok()); }
};

TEST(Ranks, MetricsAreThoseOfAllBatches) {
  MetricSet all(kOfClasses, kClasses);
  for (std::int64_t i = 0; i < kBatches; ++i) OneBatch(i).AddTo(all);
  const auto expected = all.Values();
  for (const std::uint32_t ranks : {1, 2, 3, 8}) {  // the last of 8 has no batch
    RunOnRanks(ranks, [&](Communicator& comm) {
      MetricSet mine(kOfClasses, kClasses);
      for (std::int64_t i = comm.rank(); i < kBatches; i += ranks) OneBatch(i).AddTo(mine);
      const Status summed = SumOverRanks(comm, &mine);
      ASSERT_TRUE(summed.ok()) << summed.ToString();
      EXPECT_EQ(mine.matrix().counts, all.matrix().counts);
      for (const auto& [name, value] : mine.Values()) {
        if (name == "loss" || name == "perplexity") {
          EXPECT_NEAR(value, expected.at(name), 1e-12 * expected.at(name)) << name;
        } else {
          EXPECT_EQ(value, expected.at(name)) << name;
        }
      }
    });
  }
}

TEST(Ranks, DifferencesAreThoseOfAllBatches) {
  const auto add = [](MetricSet& set, std::int64_t index) {
    const Tensor output = Tensor::Of<float>(Shape{2, 1}, {0.5F * static_cast<float>(index), -1.25F});
    Batch batch;
    batch.labels = Tensor::Of<float>(Shape{2, 1}, {1.0F, 0.1F * static_cast<float>(index)});
    batch.count = 2;
    EXPECT_TRUE(set.Add({0.5, &output}, batch, 2).ok());
  };
  const std::vector<std::string> names = {"mae", "mse"};
  MetricSet all(names);
  for (std::int64_t i = 0; i < 5; ++i) add(all, i);
  RunOnRanks(2, [&](Communicator& comm) {
    MetricSet mine(names);
    for (std::int64_t i = comm.rank(); i < 5; i += 2) add(mine, i);
    ASSERT_TRUE(SumOverRanks(comm, &mine).ok());
    for (const auto& [name, value] : mine.Values()) EXPECT_NEAR(value, all.Values().at(name), 1e-12) << name;
  });
}

TEST(Ranks, SumsOfAnotherEvaluationAreRefused) {
  MetricSet set({"accuracy"}, 3);
  EXPECT_EQ(set.SetSums(std::vector<double>{1, 2}).message(),
            "The metrics of this evaluation are made of 7 sums, but 2 are given.");
}

TEST(Ranks, AnEarlierRunIsRenamedOnce) {
  const TempFolder folder;
  const std::string path = folder / "run";
  for (int run = 0; run < 2; ++run) {
    RunOnRanks(3, [&](Communicator& comm) {
      const auto opened = RunFolder::Open(path + "/", false, comm);
      ASSERT_TRUE(opened.ok()) << opened.status().ToString();
      EXPECT_EQ(opened->path(), comm.rank() == 0 ? path : fmt::format("{}/rank_{}", path, comm.rank()));
      EXPECT_EQ(opened->moved_to(), run == 1 && comm.rank() == 0 ? path + ".1" : "");
      WriteFile(opened->File("summary.json"), fmt::format("{} {}", run, comm.rank()));
    });
    for (const char* file : {"summary.json", "rank_1/summary.json", "rank_2/summary.json"})
      EXPECT_EQ(ReadFile(path + "/" + file)[0], '0' + run) << file;
  }
  for (const char* file : {"summary.json", "rank_1/summary.json", "rank_2/summary.json"})
    EXPECT_EQ(ReadFile(path + ".1/" + file)[0], '0') << file;
  EXPECT_FALSE(std::filesystem::exists(path + ".2"));
}

TEST(Ranks, APlaceGoesOnWithTheSameSamplesAStep) {
  RunConfig config;
  RunState state;
  state.seed = config.seed;
  state.epoch = 2;
  state.step_in_epoch = 5;
  state.extra.push_back({"train.batch", Tensor::Scalar<std::int64_t>(48)});
  for (const std::int64_t ranks : {1, 2, 3, 48}) {
    config.data.batch = 48 / ranks;
    const auto at = PositionOf(config, state, ranks);
    ASSERT_TRUE(at.ok()) << at.status().ToString();
    EXPECT_EQ(at->Name(), "2_5");
  }
  config.data.batch = 16;
  const std::string two = PositionOf(config, state, 2).status().message();
  EXPECT_EQ(
      two,
      "The checkpoint is of a run with 48 samples a step; this run has 32 (2 ranks of 'data.batch' 16): its place in "
      "the epoch would be another. Set data.batch to 24.");
  const std::string five = PositionOf(config, state, 5).status().message();
  EXPECT_TRUE(five.ends_with("No 'data.batch' of 5 ranks makes 48; start as many ranks as share them evenly.")) << five;
}

}  // namespace
}  // namespace tenon
