// Shorter gradients on the wire: sums by their definition, worked out in double; ranks are threads.
#include <gtest/gtest.h>

#include <cmath>

#include "core/exec/power_sgd.h"
#include "core/exec/wire_hook.h"
#include "core/tensor/float16.h"
#include "tests/support/rank_threads.h"
#include "tests/unit/exec/open_runtime.h"

namespace tenon::exec {
namespace {

using testing_support::OpenCpuRuntime;
using testing_support::RunOnRanks;

// Two buckets: a bias [7] and a matrix [24, 40]; a convolution's weights [16, 3, 5, 5].
std::vector<passes::GradientBucket> Buckets() {
  std::vector<passes::GradientBucket> buckets(2);
  const auto add = [](passes::GradientBucket& bucket, const char* name, const Shape& shape) {
    passes::GradientBucket::Slot slot;
    slot.parameter = name;
    slot.shape = shape;
    slot.offset = bucket.bytes;
    slot.bytes = shape.elements() * 4;
    bucket.bytes += (slot.bytes + 63) / 64 * 64;
    bucket.slots.push_back(slot);
  };
  add(buckets[0], "fc.bias", Shape{7});
  add(buckets[0], "fc.weight", Shape{24, 40});
  add(buckets[1], "conv.weight", Shape{16, 3, 5, 5});
  return buckets;
}

constexpr std::int64_t kFc = 16, kConvElements = 16 * 75;  // place of fc.weight, values of conv.weight

// One rank's gradients of a step; `rank_one`: every matrix is a product of two vectors.
float GradientOf(std::uint32_t rank, std::int64_t step, std::size_t bucket, std::int64_t i, bool rank_one) {
  const auto r = static_cast<float>(rank), s = static_cast<float>(step), b = static_cast<float>(bucket);
  const std::int64_t columns = bucket == 0 ? 40 : 75, at = bucket == 0 ? i - kFc : i;
  if (!rank_one || at < 0) return 0.01F * std::sin(0.37F * static_cast<float>(i * i % 1009) + 2 * r + 3 * s + b);
  return std::sin(static_cast<float>(at / columns) + r) * std::cos(0.7F * static_cast<float>(at % columns) + r + s);
}

class World {
 public:
  World(Communicator& world, Device& device) : comm(world), exchange(world, world, device) {}

  void Prepare(std::unique_ptr<BucketHook> hook) {
    if (hook) exchange.SetHook(std::move(hook));
    const Status prepared = exchange.Prepare(Buckets());
    ASSERT_TRUE(prepared.ok()) << prepared.ToString();
  }

  // The sums of a step, by bucket.
  std::vector<std::vector<float>> Step(std::int64_t step, bool rank_one) {
    std::vector<std::vector<float>> sums;
    EXPECT_TRUE(exchange.Begin({0.5, 0, 0, 1}, 0).ok());
    for (std::size_t bucket = 0; bucket < 2; ++bucket) {
      const std::int64_t count = Buckets()[bucket].bytes / 4;
      auto* mine = reinterpret_cast<float*>(exchange.send(bucket));
      for (std::int64_t i = 0; i < count; ++i) mine[i] = GradientOf(comm.rank(), step, bucket, i, rank_one);
      EXPECT_TRUE(exchange.Launch(bucket).ok());
    }
    for (std::size_t bucket = 0; bucket < 2; ++bucket) {
      const Status done = exchange.Await(bucket);
      EXPECT_TRUE(done.ok()) << done.ToString();
      failed = failed.ok() ? done : failed;
      const auto* all = reinterpret_cast<const float*>(exchange.receive(bucket));
      sums.emplace_back(all, all + Buckets()[bucket].bytes / 4);
    }
    const auto totals = exchange.Totals();
    EXPECT_TRUE(totals.ok());
    EXPECT_EQ(totals->loss, 0.5 * comm.size());
    return sums;
  }

  Communicator& comm;
  GradientExchange exchange;
  Status failed;
};

// True sum of a number over the ranks.
double SumOf(std::uint32_t ranks, std::int64_t step, std::size_t bucket, std::int64_t i, bool rank_one) {
  double sum = 0;
  for (std::uint32_t rank = 0; rank < ranks; ++rank)
    sum += static_cast<double>(GradientOf(rank, step, bucket, i, rank_one));
  return sum;
}

std::int64_t BytesOfStep(World& world, std::int64_t step) {
  const std::int64_t before = world.comm.counts().bytes;
  world.Step(step, false);
  return world.comm.counts().bytes - before;
}

// The device of a rank, which is a thread here.
Device& Cpu() {
  static thread_local const auto runtime = OpenCpuRuntime();
  return (*runtime)->device();
}

class Wire : public ::testing::TestWithParam<DType> {};

TEST_P(Wire, SumsDifferByRounding) {
  const bool half = GetParam() == DType::kF16;
  const double digits = half ? 0x1p-11 : 0x1p-8;  // of rounding to nearest, relative
  std::int64_t plain_bytes = 0;
  for (const std::uint32_t ranks : {2, 3}) {
    RunOnRanks(ranks, [&](Communicator& comm) {
      Device& device = Cpu();
      World plain(comm, device), wire(comm, device);
      plain.Prepare(nullptr);
      wire.Prepare(MakeWireHook(comm, device, GetParam(), true));
      const std::int64_t full = BytesOfStep(plain, 0), shorter = BytesOfStep(wire, 0);
      if (comm.rank() == 0) plain_bytes = full;
      EXPECT_LE(shorter, full / 2 + 64);
      const auto sums = wire.Step(1, false);
      for (std::size_t bucket = 0; bucket < 2; ++bucket) {
        for (std::size_t i = 0; i < sums[bucket].size(); ++i) {
          // Each rank's number is rounded, and their sum; numbers are up to 0.01.
          const double bound = digits * 0.01 * (2.0 * ranks + 1);
          EXPECT_NEAR(static_cast<double>(sums[bucket][i]),
                      SumOf(ranks, 1, bucket, static_cast<std::int64_t>(i), false), bound);
        }
      }
    });
    EXPECT_GT(plain_bytes, 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Types, Wire, ::testing::Values(DType::kF16, DType::kBF16));

TEST(Wire, AnInfiniteSumIsAnErrorThatNamesTheParameter) {
  RunOnRanks(2, [&](Communicator& comm) {
    Device& device = Cpu();
    GradientExchange exchange(comm, comm, device);
    exchange.SetHook(MakeWireHook(comm, device, DType::kF16, true));
    ASSERT_TRUE(exchange.Prepare(Buckets()).ok());
    ASSERT_TRUE(exchange.Begin({}, 0).ok());
    std::fill_n(reinterpret_cast<float*>(exchange.send(0)), Buckets()[0].bytes / 4, 0.0F);
    std::fill_n(reinterpret_cast<float*>(exchange.send(1)), Buckets()[1].bytes / 4, 0.0F);
    reinterpret_cast<float*>(exchange.send(0))[kFc + 3] = 40000;  // 80000 has no float16
    for (std::size_t bucket = 0; bucket < 2; ++bucket) ASSERT_TRUE(exchange.Launch(bucket).ok());
    const Status done = exchange.Await(0);
    EXPECT_EQ(
        done.message(),
        "The gradient of 'fc.weight' is inf after it was summed over the ranks as float16. 'parallel.wire: bf16' has "
        "the range of float32.");
    EXPECT_TRUE(exchange.Await(1).ok());
    EXPECT_TRUE(exchange.Totals().ok());
  });
}

// The sum of three matrices of rank 1 has rank 3 at most: four columns hold all of it.
TEST(PowerSgd, SumsOfLowRankAreExact) {
  RunOnRanks(3, [&](Communicator& comm) {
    Device& device = Cpu();
    World world(comm, device);
    world.Prepare(MakePowerSgd(comm, device, 4, 1));
    for (std::int64_t step = 0; step < 3; ++step) {
      const auto sums = world.Step(step, true);
      for (std::size_t bucket = 0; bucket < 2; ++bucket) {
        for (std::size_t i = bucket == 0 ? kFc : 0; i < sums[bucket].size(); ++i)
          ASSERT_NEAR(static_cast<double>(sums[bucket][i]), SumOf(3, step, bucket, static_cast<std::int64_t>(i), true),
                      1e-4)
              << bucket << " " << i;
      }
    }
  });
}

TEST(PowerSgd, SendsLess) {
  RunOnRanks(2, [&](Communicator& comm) {
    Device& device = Cpu();
    World plain(comm, device), power(comm, device);
    plain.Prepare(nullptr);
    power.Prepare(MakePowerSgd(comm, device, 2, 1));
    const std::int64_t full = BytesOfStep(plain, 0), shorter = BytesOfStep(power, 0);
    // 7 numbers as they are, 2 * (24 + 40) and 2 * (16 + 75), and four totals.
    EXPECT_EQ(shorter, 4 * (7 + 2 * 64 + 2 * 91) + 4 * 8);
    EXPECT_LT(shorter, full / 6);
  });
}

// Whatever was sent, and what the ranks keep, is what the gradients were in all.
TEST(PowerSgd, WhatIsNotSentIsKept) {
  constexpr std::int64_t kSteps = 5;
  std::vector<std::vector<float>> kept(2);
  std::vector<double> sent(static_cast<std::size_t>(kConvElements));
  RunOnRanks(2, [&](Communicator& comm) {
    Device& device = Cpu();
    World world(comm, device);
    auto hook = MakePowerSgd(comm, device, 2, 1);
    PowerSgd& power = *hook;
    world.Prepare(std::move(hook));
    ASSERT_EQ(power.memory().size(), 2u);
    EXPECT_EQ(power.memory()[1].parameter, "conv.weight");
    for (std::int64_t step = 0; step < kSteps; ++step) {
      const auto sums = world.Step(step, false);
      EXPECT_NEAR(static_cast<double>(sums[0][3]), SumOf(2, step, 0, 3, false), 1e-7);  // a bias is not compressed
      if (comm.rank() > 0) continue;
      for (std::size_t i = 0; i < sent.size(); ++i) sent[i] += static_cast<double>(sums[1][i]);
    }
    const auto error = power.memory()[1].error.values<float>();
    kept[comm.rank()].assign(error.begin(), error.end());
  });
  double largest = 0;
  for (std::size_t i = 0; i < sent.size(); ++i) {
    double all = 0;
    for (std::int64_t step = 0; step < kSteps; ++step) all += SumOf(2, step, 1, static_cast<std::int64_t>(i), false);
    EXPECT_NEAR(sent[i] + static_cast<double>(kept[0][i]) + static_cast<double>(kept[1][i]), all, 1e-5) << i;
    largest = std::max(largest, std::abs(all - sent[i]));
  }
  EXPECT_GT(largest, 1e-3);  // something was kept
}

// A parameter without gradients for a while is not lost.
TEST(PowerSgd, FindsAGradientAfterNone) {
  RunOnRanks(2, [&](Communicator& comm) {
    Device& device = Cpu();
    World world(comm, device);
    world.Prepare(MakePowerSgd(comm, device, 4, 1));
    for (std::size_t bucket = 0; bucket < 2; ++bucket)
      std::fill_n(reinterpret_cast<float*>(world.exchange.send(bucket)), Buckets()[bucket].bytes / 4, 0.0F);
    ASSERT_TRUE(world.exchange.Begin({}, 0).ok());
    for (std::size_t bucket = 0; bucket < 2; ++bucket) ASSERT_TRUE(world.exchange.Launch(bucket).ok());
    for (std::size_t bucket = 0; bucket < 2; ++bucket) ASSERT_TRUE(world.exchange.Await(bucket).ok());
    ASSERT_TRUE(world.exchange.Totals().ok());
    EXPECT_NEAR(static_cast<double>(world.Step(1, true)[1][40]), SumOf(2, 1, 1, 40, true), 1e-4);
  });
}

TEST(PowerSgd, GoesOnFromItsMemory) {
  RunOnRanks(2, [&](Communicator& comm) {
    Device& device = Cpu();
    World first(comm, device), second(comm, device);
    auto one = MakePowerSgd(comm, device, 2, 1), two = MakePowerSgd(comm, device, 2, 9);
    PowerSgd &from = *one, &to = *two;
    first.Prepare(std::move(one));
    second.Prepare(std::move(two));
    for (std::int64_t step = 0; step < 3; ++step) first.Step(step, false);
    for (std::size_t i = 0; i < from.memory().size(); ++i) {
      std::ranges::copy(from.memory()[i].factor.values<float>(), to.memory()[i].factor.data<float>());
      std::ranges::copy(from.memory()[i].error.values<float>(), to.memory()[i].error.data<float>());
    }
    EXPECT_EQ(first.Step(3, false), second.Step(3, false));
  });
}

TEST(Orthonormalize, MakesColumnsOfLengthOneAtRightAngles) {
  std::vector<float> matrix = {1, 2, 2, 3, 4, 6, 5, 6, 10};  // the third column is twice the first
  Orthonormalize(matrix.data(), 3, 3);
  const auto dot = [&](int a, int b) {
    float sum = 0;
    for (int i = 0; i < 3; ++i)
      sum += matrix[static_cast<std::size_t>(3 * i + a)] * matrix[static_cast<std::size_t>(3 * i + b)];
    return sum;
  };
  EXPECT_NEAR(dot(0, 0), 1, 1e-6);
  EXPECT_NEAR(dot(1, 1), 1, 1e-6);
  EXPECT_NEAR(dot(0, 1), 0, 1e-6);
  EXPECT_EQ(dot(2, 2), 0);
}

}  // namespace
}  // namespace tenon::exec
