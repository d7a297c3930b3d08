#include "core/data/loader.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <numeric>
#include <thread>
#include <vector>

#include "tests/unit/data/allocations.h"

namespace tenon {
namespace {

using Rows = std::vector<std::int64_t>;

// Samples [i, 2 i] with label i % 5; one sample can fail or hang until it is let go.
class TestDataset final : public Dataset {
 public:
  explicit TestDataset(std::int64_t size) : size_(size) { layout_.shape = Shape{2}; }
  std::int64_t size() const override { return size_; }
  const SampleLayout& layout() const override { return layout_; }
  std::int64_t classes() const override { return 5; }
  Status ReadBatch(std::span<const std::int64_t> indices, void* samples, void* labels) const override {
    for (std::size_t i = 0; i < indices.size(); ++i) {
      const std::int64_t index = indices[i];
      if (index == fail) return Error(Code::kDataLoss, "The record is damaged.").At(Place(index));
      while (index == hang && !go) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      if (samples) {
        static_cast<float*>(samples)[2 * i] = static_cast<float>(index);
        static_cast<float*>(samples)[2 * i + 1] = static_cast<float>(2 * index);
      }
      if (labels) static_cast<std::int64_t*>(labels)[i] = index % 5;
    }
    return {};
  }
  std::string Place(std::int64_t index) const override { return "test.rec: record " + std::to_string(index); }
  std::string description() const override { return "test.rec"; }

  std::int64_t fail = -1;
  std::int64_t hang = -1;
  mutable std::atomic<bool> go{false};

 private:
  std::int64_t size_;
  SampleLayout layout_;
};

Result<std::unique_ptr<Loader>> MakeLoader(std::shared_ptr<const Dataset> data, bool shuffle,
                                           const LoaderOptions& options) {
  Rows rows(static_cast<std::size_t>(data->size()));
  std::iota(rows.begin(), rows.end(), 0);
  const Sampler sampler(std::make_shared<const Rows>(rows), {shuffle, 3});
  TENON_ASSIGN(Transform transform, Transform::Compile({}, data->layout(), 5));
  return Loader::Create({data, transform}, sampler, options);
}

std::unique_ptr<Loader> Make(std::int64_t size, bool shuffle, const LoaderOptions& options) {
  auto loader = MakeLoader(std::make_shared<TestDataset>(size), shuffle, options);
  EXPECT_TRUE(loader.ok()) << loader.status().ToString();
  return std::move(*loader);
}

// The numbers of the samples that are left of the epoch, checking what comes with them.
Rows Drain(Loader& loader, std::int64_t batch_size, std::int64_t at_most = 1 << 30) {
  Rows seen;
  while (at_most-- > 0) {
    const std::int64_t step = loader.next_step();
    const auto batch = loader.Next();
    EXPECT_TRUE(batch.ok()) << batch.status().ToString();
    if (!batch.ok() || !*batch) break;
    const Batch& b = **batch;
    EXPECT_EQ(b.step, step);
    EXPECT_EQ(b.epoch, loader.epoch());
    EXPECT_EQ(b.samples.shape(), (Shape{b.count, 2}));
    EXPECT_EQ(b.labels.shape(), (Shape{b.count}));
    EXPECT_LE(b.count, batch_size);
    for (std::int64_t i = 0; i < b.count; ++i) {
      const float* sample = b.samples.data<float>() + 2 * i;
      EXPECT_EQ(sample[1], 2 * sample[0]);
      const std::int64_t index = static_cast<std::int64_t>(sample[0]);
      EXPECT_EQ(b.labels.data<std::int64_t>()[i], index % 5);
      seen.push_back(index);
    }
  }
  return seen;
}

std::int64_t Threads() {
  std::int64_t count = 0;
  for ([[maybe_unused]] const auto& task : std::filesystem::directory_iterator("/proc/self/task")) ++count;
  return count;
}

// A joined thread's entry can stay for a moment.
void ExpectThreads(std::int64_t expected) {
  for (int i = 0; i < 1000 && Threads() != expected; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(Threads(), expected);
}

TEST(Loader, BatchesAreTheSameForAnyNumberOfWorkers) {
  for (const std::int64_t size : {1, 7, 64, 65, 130}) {
    Rows expected;
    for (const std::int64_t workers : {0, 1, 2, 5}) {
      const auto loader = Make(size, true, {8, false, workers, 60});
      EXPECT_EQ(loader->samples_per_epoch(), size);
      Rows seen;
      for (std::int64_t epoch = 0; epoch < 3; ++epoch) {
        ASSERT_TRUE(loader->Start(epoch).ok());
        const Rows part = Drain(*loader, 8);
        EXPECT_EQ(static_cast<std::int64_t>(part.size()), size);
        seen.insert(seen.end(), part.begin(), part.end());
        EXPECT_EQ(*loader->Next(), nullptr);
      }
      if (workers == 0) expected = seen;
      EXPECT_EQ(seen, expected) << workers;
      EXPECT_EQ(loader->stats().samples, 3 * size);
    }
  }
}

TEST(Loader, DropLastLeavesOutThePartialBatch) {
  for (const std::int64_t workers : {0, 2}) {
    const auto loader = Make(19, false, {8, true, workers, 60});
    EXPECT_EQ(loader->steps_per_epoch(), 2);
    EXPECT_EQ(loader->samples_per_epoch(), 16);
    ASSERT_TRUE(loader->Start(0).ok());
    EXPECT_EQ(Drain(*loader, 8).size(), 16u);
  }
}

TEST(Loader, GoesOnInTheMiddleOfAnEpoch) {
  for (const std::int64_t workers : {0, 1, 3}) {
    const auto loader = Make(50, true, {8, false, workers, 60});
    ASSERT_TRUE(loader->Start(2).ok());
    const Rows whole = Drain(*loader, 8);
    for (const std::int64_t step : {0, 1, 4, 6, 7}) {
      const auto other = Make(50, true, {8, false, workers, 60});
      ASSERT_TRUE(other->Start(2, step).ok());
      EXPECT_EQ(other->next_step(), step);
      const std::size_t from = std::min<std::size_t>(50, static_cast<std::size_t>(8 * step));
      EXPECT_EQ(Drain(*other, 8), Rows(whole.begin() + static_cast<std::ptrdiff_t>(from), whole.end()));
      // The same loader, again and backwards.
      ASSERT_TRUE(loader->Start(2, step).ok());
      EXPECT_EQ(Drain(*loader, 8, 2).size(), std::min<std::size_t>(16, 50 - from));
    }
  }
}

TEST(Loader, LeavesAnEpochEarlyAndRestartsManyTimes) {
  const std::int64_t before = Threads();
  {
    const auto loader = Make(103, true, {10, false, 3, 60});
    ASSERT_TRUE(loader->Start(1000).ok());
    const Rows expected = Drain(*loader, 10);
    for (std::int64_t i = 0; i < 200; ++i) {
      ASSERT_TRUE(loader->Start(i % 7).ok());
      EXPECT_EQ(Drain(*loader, 10, i % 12).size(),
                static_cast<std::size_t>(std::min<std::int64_t>(103, 10 * (i % 12))));
    }
    ASSERT_TRUE(loader->Start(1000).ok());
    EXPECT_EQ(Drain(*loader, 10), expected);
    EXPECT_EQ(Threads(), before + 3);
  }
  ExpectThreads(before);
  for (std::int64_t i = 0; i < 200; ++i) {
    const auto loader = Make(23, true, {4, false, 1 + i % 4, 60});
    if (i % 3 == 0) continue;  // ended before the first epoch
    ASSERT_TRUE(loader->Start(0).ok());
    Drain(*loader, 4, i % 5);
  }
  ExpectThreads(before);
}

TEST(Loader, MoreWorkersThanSamples) {
  const auto loader = Make(3, false, {1, false, 16, 60});
  ASSERT_TRUE(loader->Start(0).ok());
  EXPECT_EQ(Drain(*loader, 1), (Rows{0, 1, 2}));
}

TEST(Loader, FailuresComeInTheirPlaceAndStay) {
  for (const std::int64_t workers : {0, 1, 4}) {
    const auto data = std::make_shared<TestDataset>(40);
    data->fail = 21;
    const auto loader = MakeLoader(data, false, {8, false, workers, 60});
    ASSERT_TRUE(loader.ok());
    for (int round = 0; round < 2; ++round) {
      ASSERT_TRUE((*loader)->Start(round).ok());
      EXPECT_EQ(Drain(**loader, 8, 2).size(), 16u);
      for (int again = 0; again < 2; ++again) {
        const auto batch = (*loader)->Next();
        ASSERT_FALSE(batch.ok());
        EXPECT_EQ(batch.status().code(), Code::kDataLoss);
        EXPECT_EQ(batch.status().ToString(),
                  "test.rec: record 21: error: The record is damaged.\n - While preparing batch 2 of epoch " +
                      std::to_string(round));
      }
    }
    ASSERT_TRUE((*loader)->Start(0, 3).ok());
    EXPECT_EQ(Drain(**loader, 8).size(), 16u);
  }
}

TEST(Loader, ReportsAStallWithItsStage) {
  const auto data = std::make_shared<TestDataset>(40);
  data->hang = 9;
  const auto loader = MakeLoader(data, false, {8, false, 1, 0.02});
  ASSERT_TRUE(loader.ok());
  ASSERT_TRUE((*loader)->Start(4).ok());
  EXPECT_EQ(Drain(**loader, 8, 1).size(), 8u);
  std::thread release([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(150));
    data->go = true;
  });
  EXPECT_EQ(Drain(**loader, 8).size(), 32u);
  release.join();
  const LoaderStats& stats = (*loader)->stats();
  EXPECT_GE(stats.stalls, 1);
  EXPECT_GE(stats.wait_ns, 50'000'000);
  EXPECT_EQ(stats.last_stall.find("Batch 1 of epoch 4 has been waited for 0."), 0u) << stats.last_stall;
  EXPECT_NE(stats.last_stall.find(" s: data worker 0 is reading its samples from 'test.rec'."), std::string::npos)
      << stats.last_stall;
}

TEST(Loader, RefusesWhatCannotWork) {
  const auto error = [](std::int64_t size, const LoaderOptions& options) {
    const auto loader = MakeLoader(std::make_shared<TestDataset>(size), false, options);
    return loader.ok() ? std::string() : loader.status().message();
  };
  EXPECT_EQ(error(0, {}), "There are no samples to load.");
  EXPECT_EQ(error(5, {0, false, 1, 60}), "The batch size is 0; it must be at least 1.");
  EXPECT_EQ(error(5, {8, true, 1, 60}), "With drop_last no batch is left: there are 5 samples, and a batch has 8.");
  EXPECT_EQ(error(5, {8, false, -1, 60}), "The number of data workers is -1; it must be between 0 and 1024.");
  const auto loader = Make(5, false, {2, false, 1, 60});
  EXPECT_EQ(loader->Next().status().message(), "Loader::Start must be called before Next.");
  EXPECT_EQ(loader->Start(0, 4).message(), "Batch 4 of an epoch is outside 0 to 3.");
  EXPECT_EQ(loader->Start(-1).message(), "The epoch is -1; epochs count from 0.");
}

TEST(Loader, SteadyBatchesAllocateNothing) {
  for (const std::int64_t workers : {0, 1, 3}) {
    const auto loader = Make(1000, true, {7, false, workers, 60});
    ASSERT_TRUE(loader->Start(0).ok());
    while (*loader->Next()) {
    }
    const std::int64_t before = testing::Allocations();
    for (std::int64_t epoch = 1; epoch < 4; ++epoch) {
      if (!loader->Start(epoch).ok()) break;
      while (*loader->Next()) {
      }
    }
    EXPECT_EQ(testing::Allocations() - before, 0) << workers << " workers";
  }
}

}  // namespace
}  // namespace tenon
