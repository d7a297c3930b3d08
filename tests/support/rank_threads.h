#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "core/comm/communicator.h"
#include "tests/support/memory_store.h"
#include "tests/support/plugin_fixtures.h"

namespace tenon::testing_support {

struct RankThreadsOptions {
  std::uint64_t timeout_ns = 20'000'000'000;  // of each operation
  std::uint64_t notice_ns = 60'000'000'000;
  std::function<void(CollectivePlugin&)> edit = [](CollectivePlugin&) {};  // of each rank's plugin, before it is used
};

// Calls `body` on so many threads, each a rank with a communicator of its own over the fixture comm_loopback.
inline void RunOnRanks(std::uint32_t size, const std::function<void(Communicator&)>& body,
                       const RankThreadsOptions& given = {}) {
  MemoryStore store;
  std::vector<std::unique_ptr<PluginRegistry>> registries;
  std::vector<CollectivePlugin> plugins;
  for (std::uint32_t rank = 0; rank < size; ++rank) {
    registries.push_back(std::make_unique<PluginRegistry>(BareOptions()));
    const Status loaded = registries.back()->Load(LoadFixtures({"comm_loopback"}));
    ASSERT_TRUE(loaded.ok()) << loaded.ToString();
    auto found = FindCollective(*registries.back(), "auto");
    ASSERT_TRUE(found.ok()) << found.status().ToString();
    plugins.push_back(*found);
    given.edit(plugins.back());
  }
  std::vector<std::thread> threads;
  for (std::uint32_t rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      CommunicatorOptions options;
      options.rank.rank = options.rank.local_rank = rank;
      options.rank.size = options.rank.local_size = size;
      options.store = &store;
      options.timeout_ns = given.timeout_ns;
      options.notice_ns = given.notice_ns;
      auto made = Communicator::Make(plugins[rank], options);
      ASSERT_TRUE(made.ok()) << made.status().ToString();
      body(**made);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace tenon::testing_support
