#include "core/base/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <numeric>
#include <set>
#include <vector>

namespace tenon {
namespace {

TEST(ThreadPool, CoversARangeOnceWithTheSameCutEveryTime) {
  ThreadPool pool(3);
  for (int round = 0; round < 200; ++round) {
    std::vector<int> hits(1000, 0);
    std::mutex mutex;
    std::set<std::pair<std::int64_t, std::int64_t>> parts;
    pool.For(1000, 1, [&](std::int64_t begin, std::int64_t end, std::int32_t) {
      for (std::int64_t i = begin; i < end; ++i) ++hits[static_cast<std::size_t>(i)];
      const std::lock_guard<std::mutex> lock(mutex);
      parts.insert({begin, end});
    });
    EXPECT_EQ(std::accumulate(hits.begin(), hits.end(), 0), 1000);
    const std::set<std::pair<std::int64_t, std::int64_t>> expected = {{0, 334}, {334, 667}, {667, 1000}};
    EXPECT_EQ(parts, expected);
  }
}

TEST(ThreadPool, RespectsGrainAndLimit) {
  ThreadPool pool(4);
  EXPECT_EQ(pool.Parts(0, 1), 0);
  EXPECT_EQ(pool.Parts(10, 100), 1);
  EXPECT_EQ(pool.Parts(250, 100), 2);
  EXPECT_EQ(pool.Parts(1000, 1), 4);
  EXPECT_EQ(pool.Parts(1000, 1, 2), 2);
}

TEST(ThreadPool, OneThreadRunsInPlace) {
  ThreadPool pool(1);
  const std::thread::id self = std::this_thread::get_id();
  pool.For(100, 1, [&](std::int64_t begin, std::int64_t end, std::int32_t part) {
    EXPECT_EQ(std::this_thread::get_id(), self);
    EXPECT_EQ(begin, 0);
    EXPECT_EQ(end, 100);
    EXPECT_EQ(part, 0);
  });
  bool ran = false;
  EXPECT_TRUE(pool.Submit([](void* user) { *static_cast<bool*>(user) = true; }, &ran));
  EXPECT_TRUE(ran);
}

TEST(ThreadPool, InnerLoopsAndOtherCallersMakeProgress) {
  ThreadPool pool(2);
  std::atomic<int> total{0};
  const auto body = [&](std::int64_t begin, std::int64_t end, std::int32_t) {
    for (std::int64_t i = begin; i < end; ++i) {
      pool.For(10, 1, [&](std::int64_t b, std::int64_t e, std::int32_t) { total += static_cast<int>(e - b); });
    }
  };
  std::vector<std::thread> callers;
  for (int i = 0; i < 3; ++i) {
    callers.emplace_back([&] {
      for (int round = 0; round < 100; ++round) pool.For(8, 1, body);
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(total.load(), 3 * 100 * 8 * 10);
}

TEST(ThreadPool, RunsEverySubmittedTaskBeforeItEnds) {
  std::atomic<int> ran{0};
  {
    ThreadPool pool(3, /*spin_us=*/0);
    for (int i = 0; i < 500; ++i) {
      EXPECT_TRUE(pool.Submit([](void* user) { ++*static_cast<std::atomic<int>*>(user); }, &ran));
    }
  }
  EXPECT_EQ(ran.load(), 500);
}

TEST(ThreadPool, SleepingWorkersWakeUp) {
  ThreadPool pool(2, /*spin_us=*/0);
  for (int round = 0; round < 2000; ++round) {
    std::atomic<int> sum{0};
    pool.For(64, 1, [&](std::int64_t begin, std::int64_t end, std::int32_t) { sum += static_cast<int>(end - begin); });
    ASSERT_EQ(sum.load(), 64);
  }
}

}  // namespace
}  // namespace tenon
