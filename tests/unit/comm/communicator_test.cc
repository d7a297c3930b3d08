// Ranks are threads with a plugin instance each, over the fixture comm_loopback.
#include "core/comm/communicator.h"

#include <gtest/gtest.h>

#include <functional>
#include <numeric>
#include <set>

#include "core/device/device.h"
#include "core/platform/process.h"
#include "tests/support/memory_store.h"
#include "tests/support/plugin_fixtures.h"
#include "tests/support/rank_threads.h"

namespace tenon {
namespace {

using testing_support::BareOptions;
using testing_support::LoadFixtures;
using testing_support::MemoryStore;

constexpr std::uint64_t kSecond = 1'000'000'000;

// The plugin without some of its operations.
std::set<std::uint32_t> g_denied;
std::int32_t (*g_supports)(tenon_plugin*, std::uint32_t, std::uint32_t, std::uint32_t, tenon_str, std::uint32_t*,
                           tenon_error*) = nullptr;
std::int32_t SupportsLess(tenon_plugin* plugin, std::uint32_t kind, std::uint32_t dtype, std::uint32_t reduction,
                          tenon_str memory, std::uint32_t* answer, tenon_error* error) {
  const std::int32_t code = g_supports(plugin, kind, dtype, reduction, memory, answer, error);
  if (g_denied.count(kind) > 0 || (g_denied.count(1000) > 0 && reduction == TENON_REDUCE_AVERAGE))
    *answer = TENON_ANSWER_NO;
  return code;
}
constexpr std::uint32_t kDenyAverage = 1000;

class World : public ::testing::Test {
 protected:
  using Body = std::function<void(Communicator&)>;

  void SetUp() override { g_denied.clear(); }

  void Run(std::uint32_t size, const Body& body, std::uint64_t timeout_ns = 20 * kSecond) {
    tenon_collective_vtable less{};
    testing_support::RankThreadsOptions options;
    options.timeout_ns = timeout_ns;
    options.edit = [&less](CollectivePlugin& plugin) {
      if (g_denied.empty()) return;
      less = *plugin.table;
      g_supports = plugin.table->supports;
      less.supports = SupportsLess;
      plugin.table = &less;
    };
    testing_support::RunOnRanks(size, body, options);
  }

  static void Check(const Status& status) { ASSERT_TRUE(status.ok()) << status.ToString(); }
};

// Values of rank r: r + 1 at every place, times its index.
std::vector<float> ValuesOf(std::uint32_t rank, std::size_t count) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<float>((rank + 1) * (i + 1));
  return values;
}

void CheckAllFour(Communicator& comm) {
  std::vector<float> values = ValuesOf(comm.rank(), 5);
  const auto total = static_cast<float>(comm.size() * (comm.size() + 1) / 2);
  const Status summed = comm.AllReduceNow<float>(values);
  ASSERT_TRUE(summed.ok()) << summed.ToString();
  for (std::size_t i = 0; i < values.size(); ++i) EXPECT_EQ(values[i], total * static_cast<float>(i + 1));

  values = ValuesOf(comm.rank(), 5);
  const Status averaged = comm.AllReduceNow<float>(values, Reduction::kAverage);
  ASSERT_TRUE(averaged.ok()) << averaged.ToString();
  EXPECT_FLOAT_EQ(values[1], 2 * total / static_cast<float>(comm.size()));

  std::vector<std::int64_t> number = {static_cast<std::int64_t>(comm.rank()) + 40};
  const auto ticket = comm.Broadcast(Communicator::AddressOf(number.data()), 8, comm.size() - 1);
  ASSERT_TRUE(ticket.ok()) << ticket.status().ToString();
  const Status cast = comm.Wait(*ticket);
  ASSERT_TRUE(cast.ok()) << cast.ToString();
  EXPECT_EQ(number[0], static_cast<std::int64_t>(comm.size()) + 39);

  const std::vector<std::int32_t> mine = {static_cast<std::int32_t>(comm.rank()), 7};
  const auto all = comm.AllGatherNow<std::int32_t>(mine);
  ASSERT_TRUE(all.ok()) << all.status().ToString();
  for (std::uint32_t rank = 0; rank < comm.size(); ++rank) {
    EXPECT_EQ((*all)[2 * rank], static_cast<std::int32_t>(rank));
    EXPECT_EQ((*all)[2 * rank + 1], 7);
  }
  const Status passed = comm.Barrier();
  EXPECT_TRUE(passed.ok()) << passed.ToString();
}

TEST_F(World, OperationsGiveTheirResults) {
  for (const std::uint32_t size : {1U, 2U, 3U}) {
    Run(size, [](Communicator& comm) {
      CheckAllFour(comm);
      EXPECT_TRUE(comm.counts().emulated.empty());
      EXPECT_EQ(comm.counts().staged, 0);
      EXPECT_EQ(comm.counts().operations, 5);
    });
  }
}

TEST_F(World, WhatThePluginLacksIsMadeOfWhatItHas) {
  g_denied = {TENON_COLLECTIVE_BROADCAST, TENON_COLLECTIVE_BARRIER, kDenyAverage};
  Run(3, [](Communicator& comm) {
    std::vector<std::int32_t> number = {static_cast<std::int32_t>(comm.rank())};
    const auto ticket = comm.Broadcast(Communicator::AddressOf(number.data()), 4, 1);
    ASSERT_TRUE(ticket.ok()) << ticket.status().ToString();
    Check(comm.Wait(*ticket));
    EXPECT_EQ(number[0], 1);
    std::vector<double> values = {static_cast<double>(comm.rank())};
    Check(comm.AllReduceNow<double>(values, Reduction::kAverage));
    EXPECT_DOUBLE_EQ(values[0], 1);
    Check(comm.Barrier());
    const std::map<std::string, std::int64_t> expected = {{"all-reduce", 1}, {"barrier", 1}, {"broadcast", 1}};
    EXPECT_EQ(comm.counts().emulated, expected);
  });
  g_denied = {TENON_COLLECTIVE_ALL_REDUCE, TENON_COLLECTIVE_ALL_GATHER};
  Run(2, [](Communicator& comm) {
    CheckAllFour(comm);
    const std::map<std::string, std::int64_t> expected = {{"all-gather", 1}, {"all-reduce", 2}};
    EXPECT_EQ(comm.counts().emulated, expected);
  });
}

TEST_F(World, WhatCannotBeMadeIsAnErrorThatNamesThePluginAndTheWayOut) {
  g_denied = {TENON_COLLECTIVE_ALL_REDUCE, TENON_COLLECTIVE_REDUCE};
  Run(2, [](Communicator& comm) {
    std::vector<float> values = {1};
    const Status status = comm.AllReduceNow<float>(values);
    EXPECT_EQ(status.code(), Code::kUnimplemented);
    EXPECT_NE(status.message().find("org.tenon.fixture.comm_loopback has no all-reduce of float32"), std::string::npos)
        << status.ToString();
    EXPECT_NE(status.message().find("parallel.comm"), std::string::npos);
  });
}

TEST_F(World, ManyOperationsAreUnderWayAtOnce) {
  Run(2, [](Communicator& comm) {
    constexpr std::size_t kCount = 20;
    std::vector<std::vector<float>> values;
    std::vector<Communicator::Ticket> tickets;
    for (std::size_t i = 0; i < kCount; ++i) values.push_back(ValuesOf(comm.rank(), 100 * i));
    for (auto& one : values) {
      const std::uint64_t at = Communicator::AddressOf(one.data());
      const auto ticket = comm.AllReduce(at, at, static_cast<std::int64_t>(one.size()), DType::kF32);
      ASSERT_TRUE(ticket.ok()) << ticket.status().ToString();
      tickets.push_back(*ticket);
    }
    for (std::size_t i = kCount; i-- > 0;) Check(comm.Wait(tickets[i]));  // in any order
    EXPECT_EQ(values[3][1], 6);
    EXPECT_EQ(comm.Wait(tickets[0]).code(), Code::kInternal);
  });
}

TEST_F(World, DifferentCallsAreAnErrorOnEveryRank) {
  Run(2, [](Communicator& comm) {
    std::vector<float> values(comm.rank() == 0 ? 4 : 5, 1);
    const Status status = comm.AllReduceNow<float>(values);
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << status.ToString();
    EXPECT_NE(status.ToString().find("All ranks must run the same program"), std::string::npos);
  });
}

TEST_F(World, DifferentTagsAreAnError) {
  Run(2, [](Communicator& comm) {
    float value = 1;
    const std::uint64_t at = Communicator::AddressOf(&value);
    const auto ticket = comm.AllReduce(at, at, 1, DType::kF32, Reduction::kSum, 1, comm.rank());
    ASSERT_TRUE(ticket.ok());
    EXPECT_EQ(comm.Wait(*ticket).code(), Code::kInvalidArgument);
  });
}

TEST_F(World, AnAbortFromAnotherThreadEndsTheWaitWithItsCause) {
  Run(2, [](Communicator& comm) {
    if (comm.rank() == 1) {
      std::this_thread::sleep_for(std::chrono::milliseconds(300));
      return;
    }
    float value = 1;
    const std::uint64_t at = Communicator::AddressOf(&value);
    const auto ticket = comm.AllReduce(at, at, 1, DType::kF32);
    ASSERT_TRUE(ticket.ok());
    std::thread other([&comm] { comm.Abort(Error(Code::kDataLoss, "rank 1: the disk is gone")); });
    const Status status = comm.Wait(*ticket);
    other.join();
    EXPECT_EQ(status.code(), Code::kDataLoss);
    EXPECT_EQ(status.message(), "rank 1: the disk is gone");
    EXPECT_EQ(comm.Barrier().message(), "rank 1: the disk is gone");
    comm.Abort(Error(Code::kUnknown, "later"));
    EXPECT_EQ(comm.failure().code(), Code::kDataLoss);
  });
}

TEST_F(World, ATimeOutSaysThatARankWasSlow) {
  Run(
      2,
      [](Communicator& comm) {
        if (comm.rank() == 1) {
          std::this_thread::sleep_for(std::chrono::milliseconds(600));
          return;
        }
        const Status status = comm.Barrier();
        EXPECT_EQ(status.code(), Code::kDeadlineExceeded) << status.ToString();
        EXPECT_NE(status.message().find("Usually a rank is slow or stopped"), std::string::npos);
      },
      kSecond / 5);
}

TEST_F(World, ALongWaitSaysForWhom) {
  testing_support::RankThreadsOptions options;
  options.notice_ns = kSecond / 5;
  testing::internal::CaptureStderr();
  testing_support::RunOnRanks(
      2,
      [](Communicator& comm) {
        if (comm.rank() == 1) std::this_thread::sleep_for(std::chrono::milliseconds(600));
        Check(comm.Barrier());
      },
      options);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("warning: Rank 0 has waited 0."), std::string::npos) << said;
  EXPECT_NE(said.find(" s for rank 1 in communicator 'world'."), std::string::npos) << said;
  EXPECT_EQ(said.find("Rank 1 has waited"), std::string::npos) << said;
}

// Joins as one of two ranks, of which the other does not come.
Status JoinAlone(std::uint64_t timeout_ns, std::function<Status()> failure = {}) {
  MemoryStore store;
  PluginRegistry registry(BareOptions());
  TENON_TRY(registry.Load(LoadFixtures({"comm_loopback"})));
  TENON_ASSIGN(const CollectivePlugin plugin, FindCollective(registry, "comm_loopback"));
  CommunicatorOptions options;
  options.rank.size = options.rank.local_size = 2;
  options.store = &store;
  options.timeout_ns = timeout_ns;
  options.notice_ns = kSecond / 20;
  options.failure = std::move(failure);
  return Communicator::Make(plugin, options).status();
}

TEST_F(World, JoiningWithoutTheOthersNamesTheMissingRank) {
  testing::internal::CaptureStderr();
  const Status status = JoinAlone(kSecond / 5);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(status.ToString().find("Rank 1 did not join"), std::string::npos) << status.ToString();
  EXPECT_NE(said.find(" s for rank 1 in communicator 'world'."), std::string::npos) << said;
}

TEST_F(World, AFailureOfTheRunEndsJoining) {
  int asked = 0;
  const std::int64_t began = MonotonicNs();
  const Status status = JoinAlone(60 * kSecond, [&asked] {
    return ++asked < 5 ? Status() : Error(Code::kAborted, "rank 1 ended without leaving the run.");
  });
  EXPECT_NE(status.ToString().find("rank 1 ended without leaving the run."), std::string::npos) << status.ToString();
  EXPECT_LT(MonotonicNs() - began, std::int64_t{10 * kSecond});
}

TEST_F(World, APluginThatIsNotThereIsNamed) {
  PluginRegistry registry(BareOptions());
  Check(registry.Load(LoadFixtures({"comm_loopback"})));
  const auto plugin = FindCollective(registry, "comm_other");
  ASSERT_FALSE(plugin.ok());
  EXPECT_NE(plugin.status().message().find("comm_other"), std::string::npos);
}

}  // namespace
}  // namespace tenon
