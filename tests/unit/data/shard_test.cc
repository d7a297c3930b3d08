// How an epoch is dealt to ranks. Expected orders of `wrap`: the distributed sampler of MindSpore 2.10.0 for ten samples in
// natural order, as it gave them. All else is a property that must hold for any data: ranks together see what one rank sees.
#include "core/data/shard.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <numeric>
#include <set>

#include "core/data/batch_plan.h"
#include "core/data/open_data.h"
#include "core/data/synthetic_dataset.h"
#include "tests/unit/data/data_files.h"
#include "tests/unit/data/pictures.h"

namespace tenon {
namespace {

using testing::Folder;
using Rows = std::vector<std::int64_t>;

Result<BatchPlan> Plan(std::int64_t samples, bool shuffle, const BatchPlan::Options& options) {
  Rows rows(static_cast<std::size_t>(samples));
  std::iota(rows.begin(), rows.end(), 0);
  SyntheticOptions synthetic;
  synthetic.samples = samples;
  synthetic.classes = 2;
  synthetic.image = Shape{1};
  TENON_ASSIGN(auto dataset, SyntheticDataset::Create(synthetic));
  return BatchPlan::Create(std::move(dataset), Sampler(std::make_shared<const Rows>(rows), {shuffle, 3}), options);
}

// What a rank sees in an epoch, in order.
Rows SeenBy(const Shard& shard, std::int64_t samples, bool shuffle = false, std::int64_t epoch = 0,
            std::int64_t batch = 2) {
  auto plan = Plan(samples, shuffle, {batch, false, {}, shard});
  EXPECT_TRUE(plan.ok()) << plan.status().ToString();
  Rows seen;
  plan->SetEpoch(epoch);
  for (std::int64_t step = 0; step < plan->steps(); ++step) {
    const auto indices = plan->Indices(step);
    seen.insert(seen.end(), indices.begin(), indices.end());
  }
  EXPECT_EQ(std::ssize(seen), plan->samples());
  return seen;
}

std::vector<Rows> SeenByAll(std::int64_t ranks, ShardRule rule, std::int64_t samples) {
  std::vector<Rows> seen;
  for (std::int64_t rank = 0; rank < ranks; ++rank) seen.push_back(SeenBy({rank, ranks, rule}, samples));
  return seen;
}

TEST(Shard, WrapIsTheOrderOfMindSpore) {
  EXPECT_EQ(SeenByAll(4, ShardRule::kWrap, 10), (std::vector<Rows>{{0, 4, 8}, {1, 5, 9}, {2, 6, 0}, {3, 7, 1}}));
  EXPECT_EQ(SeenByAll(3, ShardRule::kWrap, 10), (std::vector<Rows>{{0, 3, 6, 9}, {1, 4, 7, 0}, {2, 5, 8, 1}}));
  EXPECT_EQ(SeenByAll(5, ShardRule::kWrap, 2), (std::vector<Rows>{{0}, {1}, {0}, {1}, {0}}));
}

TEST(Shard, ExactDiffersByOneAtMost) {
  EXPECT_EQ(SeenByAll(3, ShardRule::kExact, 10), (std::vector<Rows>{{0, 3, 6, 9}, {1, 4, 7}, {2, 5, 8}}));
}

// Three epochs with 1, 2 and 3 ranks, twice.
TEST(Shard, RanksAreDisjointAndTogetherComplete) {
  Rows all(101);
  std::iota(all.begin(), all.end(), 0);
  for (const std::int64_t ranks : {1, 2, 3}) {
    std::set<std::vector<Rows>> epochs;
    for (std::int64_t epoch = 0; epoch < 3; ++epoch) {
      std::vector<Rows> runs[2];
      for (auto& run : runs) {
        for (std::int64_t rank = 0; rank < ranks; ++rank)
          run.push_back(SeenBy({rank, ranks, ShardRule::kExact}, 101, true, epoch, 8));
      }
      EXPECT_EQ(runs[0], runs[1]);
      Rows together;
      for (const Rows& seen : runs[0]) together.insert(together.end(), seen.begin(), seen.end());
      std::sort(together.begin(), together.end());
      EXPECT_EQ(together, all);
      epochs.insert(runs[0]);
    }
    EXPECT_EQ(epochs.size(), 3u) << "the order of an epoch came again";
  }
}

TEST(Shard, AllRanksHaveTheSameSteps) {
  for (const std::int64_t samples : {4, 7, 24, 25, 30, 31, 47}) {
    for (const bool drop_last : {false, true}) {
      for (const ShardRule rule : {ShardRule::kExact, ShardRule::kWrap}) {
        std::set<std::int64_t> steps, counts;
        for (std::int64_t rank = 0; rank < 4; ++rank) {
          const auto plan = Plan(samples, true, {3, drop_last, {}, {rank, 4, rule}});
          if (!plan.ok()) continue;  // nothing is left
          steps.insert(plan->steps());
          counts.insert(plan->samples());
        }
        EXPECT_LE(steps.size(), 1u) << samples;
        if (drop_last || rule == ShardRule::kWrap) {
          EXPECT_LE(counts.size(), 1u) << samples;
        }
      }
    }
  }
}

TEST(Shard, AStepMayHaveNothingForARank) {
  const auto plan = Plan(7, false, {3, false, {}, {1, 2}});  // places 0 ... 5, and 6
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->steps(), 2);
  EXPECT_EQ(plan->Indices(1).size(), 0u);
}

TEST(Shard, RefusesWhatCannotWork) {
  const auto error = [](std::int64_t samples, const Shard& shard, bool drop_last) {
    return Plan(samples, false, {4, drop_last, {}, shard}).status().message();
  };
  EXPECT_EQ(error(9, {3, 3}, false), "Rank 3 is outside 0 to 2 (3 ranks).");
  EXPECT_EQ(error(9, {0, 0}, false), "The number of ranks is 0; it must be at least 1.");
  EXPECT_EQ(error(3, {3, 4}, false), "There are 3 samples for 4 ranks; rank 3 gets none.");
  EXPECT_EQ(error(7, {0, 2}, true),
            "With drop_last no step is left: there are 7 samples, and 2 ranks have batches of 4.");
}

// --- What loaders give ----------------------------------------------------------------------------------------------

// A row of a batch, sample and label, as bytes behind its shape.
std::string RowOf(const Batch& batch, std::int64_t row) {
  std::string text;
  for (const Tensor* tensor : {&batch.samples, &batch.labels}) {
    const std::size_t bytes =
        static_cast<std::size_t>(tensor->elements() / batch.count * static_cast<std::int64_t>(SizeOf(tensor->dtype())));
    const auto* first = static_cast<const char*>(tensor->raw()) + static_cast<std::size_t>(row) * bytes;
    text += tensor->shape().ToString().substr(std::to_string(batch.count).size() + 1) + std::string(first, bytes);
  }
  return text;
}

using Steps = std::vector<std::vector<std::string>>;  // rows of each step

Steps StepsOf(Loader& loader, std::int64_t epoch, std::int64_t from) {
  Steps steps;
  EXPECT_TRUE(loader.Start(epoch, from).ok());
  while (true) {
    const auto batch = loader.Next();
    EXPECT_TRUE(batch.ok()) << batch.status().ToString();
    if (!batch.ok() || !*batch) return steps;
    auto& rows = steps.emplace_back();
    for (std::int64_t row = 0; row < (*batch)->count; ++row) rows.push_back(RowOf(**batch, row));
  }
}

Steps OnRank(DataConfig config, std::int64_t rank, std::int64_t ranks, std::int64_t batch, std::int64_t epoch,
             std::int64_t from = 0) {
  config.batch = batch;
  const auto source = OpenData(config, {.seed = 5, .rank = rank, .ranks = ranks});
  EXPECT_TRUE(source.ok()) << source.status().ToString();
  if (!source.ok()) return {};
  const auto loader = source->TrainLoader();
  EXPECT_TRUE(loader.ok()) << loader.status().ToString();
  return loader.ok() ? StepsOf(**loader, epoch, from) : Steps();
}

// The steps of all ranks, place p of a step from rank p % ranks.
Steps OnRanks(const DataConfig& config, std::int64_t ranks, std::int64_t batch, std::int64_t epoch,
              std::int64_t from = 0) {
  std::vector<Steps> of_ranks;
  for (std::int64_t rank = 0; rank < ranks; ++rank) of_ranks.push_back(OnRank(config, rank, ranks, batch, epoch, from));
  Steps steps(of_ranks[0].size());
  for (std::size_t step = 0; step < steps.size(); ++step) {
    for (std::size_t place = 0;; ++place) {
      const Steps& of_rank = of_ranks[place % of_ranks.size()];
      EXPECT_EQ(of_rank.size(), steps.size());
      const std::size_t row = place / of_ranks.size();
      if (of_rank.size() != steps.size() || row >= of_rank[step].size()) break;
      steps[step].push_back(of_rank[step][row]);
    }
  }
  return steps;
}

DataConfig Pictures(const Folder& folder) {
  int number = 0;
  for (const char* name : {"halved.jpg", "full.jpg", "progressive.jpg", "grey.jpg", "cmyk.jpg", "rgb.png"}) {
    const auto bytes = testing::FixtureBytes(name);
    for (const char* label : {"cats", "dogs", "owls"}) {
      std::filesystem::create_directories(folder.Path(label));
      folder.Write(fmt::format("{}/{}_{}", label, number++, name), std::string(bytes.begin(), bytes.end()));
    }
  }
  DataConfig config;
  config.type = "images";
  config.path.resolved = folder.path();
  config.image.emplace();
  config.transforms = {RandomResizedCropConfig{{24, 20, false}}, RandomFlipConfig{}, OneHotConfig{}, MixupConfig{}};
  return config;
}

DataConfig Planes(bool mixed) {
  DataConfig config;
  config.type = "synthetic";
  config.samples = 37;
  config.classes = 4;
  config.image.emplace();
  config.image->shape = {2, 5, 3};
  config.transforms = {RandomCropConfig{{5, 3, false}, 2}, RandomFlipConfig{}};
  if (mixed) config.transforms.insert(config.transforms.end(), {OneHotConfig{}, MixupConfig{1.0}});
  return config;
}

DataConfig Lines(const Folder& folder, const std::vector<std::int64_t>& buckets) {
  std::string text;
  for (std::size_t i = 0; i < 53; ++i) text += std::string(i * i % 11 + 1, static_cast<char>('a' + i % 5)) + "\n";
  DataConfig config;
  config.type = "text";
  config.path.resolved = folder.Write("lines.txt", text);
  config.tokens = TokensConfig{.length = 12, .lines = true};
  config.buckets = buckets;
  return config;
}

DataConfig RunningText(const Folder& folder) {
  std::string text;
  for (std::size_t i = 0; i < 900; ++i) text += static_cast<char>('a' + i * i % 23);
  DataConfig config;
  config.type = "text";
  config.path.resolved = folder.Write("text.txt", text);
  config.tokens = TokensConfig{.length = 16, .stride = 5};
  return config;
}

DataConfig Table(const Folder& folder) {
  std::string text;
  for (int i = 0; i < 41; ++i) text += fmt::format("{},{},{}\n", i, 2 * i, i % 3);
  DataConfig config;
  config.type = "csv";
  config.path.resolved = folder.Write("table.csv", text);
  return config;
}

// With the same number of samples a step, n ranks of batch b see in each step what one rank of batch n * b sees, value for
// value: losses of the two differ by rounding alone. Whatever the source and the chances.
TEST(Shard, RanksTogetherSeeWhatOneRankSees) {
  const Folder folder, pictures;
  const std::vector<std::pair<std::string, DataConfig>> cases = {{"pictures", Pictures(pictures)},
                                                                 {"planes", Planes(false)},
                                                                 {"planes, mixed", Planes(true)},
                                                                 {"lines", Lines(folder, {})},
                                                                 {"lines in buckets", Lines(folder, {4, 8, 12})},
                                                                 {"text", RunningText(folder)},
                                                                 {"table", Table(folder)}};
  for (auto [name, config] : cases) {
    SCOPED_TRACE(name);
    for (const std::int64_t epoch : {0, 2}) {
      const Steps expected = OnRank(config, 0, 1, 12, epoch);
      ASSERT_GT(expected.size(), 1u);
      for (const std::int64_t workers : {0, 2}) {
        config.workers = workers;
        for (const std::int64_t ranks : {2, 3, 4})
          EXPECT_EQ(OnRanks(config, ranks, 12 / ranks, epoch), expected) << ranks;
      }
    }
  }
}

TEST(Shard, WrappedBucketsGiveEqualCounts) {
  const Folder folder;
  DataConfig config = Lines(folder, {4, 8, 12});
  config.shard = ShardRule::kWrap;
  std::vector<Steps> of_ranks;
  for (std::int64_t rank = 0; rank < 3; ++rank) of_ranks.push_back(OnRank(config, rank, 3, 5, 1));
  std::multiset<std::string> seen;
  for (const Steps& steps : of_ranks) {
    ASSERT_EQ(steps.size(), of_ranks[0].size());
    for (std::size_t step = 0; step < steps.size(); ++step) {
      EXPECT_EQ(steps[step].size(), of_ranks[0][step].size());
      seen.insert(steps[step].begin(), steps[step].end());
    }
  }
  EXPECT_GE(seen.size(), 53u);
  EXPECT_LE(seen.size(), 53u + 3 * 2);
}

// A run that stops with 2 ranks goes on with 3, or with 1: what is left of the epoch is the same.
TEST(Shard, AnEpochGoesOnWithAnotherNumberOfRanks) {
  const Folder folder;
  for (const DataConfig& config : {Planes(true), Lines(folder, {4, 8, 12})}) {
    const Steps expected = OnRanks(config, 2, 6, 1, 2);
    EXPECT_EQ(OnRanks(config, 3, 4, 1, 2), expected);
    EXPECT_EQ(OnRank(config, 0, 1, 12, 1, 2), expected);
  }
}

// An evaluation has the batches of one rank, each on one of them.
TEST(Shard, EvaluationsDealWholeBatches) {
  DataConfig config = Planes(false);
  config.split.fraction = 0.5;
  config.batch = 4;
  const auto steps = [&](std::int64_t rank, std::int64_t ranks) {
    const auto source = OpenData(config, {.seed = 5, .rank = rank, .ranks = ranks});
    const auto loader = source->TestLoader();
    EXPECT_TRUE(loader.ok()) << loader.status().ToString();
    return StepsOf(**loader, 0, 0);
  };
  const Steps all = steps(0, 1);
  ASSERT_EQ(all.size(), 5u);
  for (const std::int64_t ranks : {2, 3, 7}) {
    for (std::int64_t rank = 0; rank < ranks; ++rank) {
      Steps expected;
      for (auto step = static_cast<std::size_t>(rank); step < all.size(); step += static_cast<std::size_t>(ranks))
        expected.push_back(all[step]);
      EXPECT_EQ(steps(rank, ranks), expected) << rank << " of " << ranks;
    }
  }
}

}  // namespace
}  // namespace tenon
