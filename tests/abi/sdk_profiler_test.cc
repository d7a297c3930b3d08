// The sdk's profiler under many threads, against a host of the test's own.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "tenon/sdk/sdk.h"
#include "tests/abi/mini_host.h"

namespace tenon::test {
namespace {

// Buffers that hold `records` each; at most `most` of them. Nothing may come once it is closed.
class Buffers {
 public:
  explicit Buffers(uint64_t records, uint64_t most = UINT64_MAX)
      : bytes_(records * sizeof(tenon_record)), left_(most) {}

  tenon_profiler_config Config(uint64_t mask = ~uint64_t{0}) {
    tenon_profiler_config config = TENON_INIT(tenon_profiler_config);
    config.mask = mask;
    config.user = this;
    config.buffer_request = [](void* user, uint64_t* bytes) -> void* {
      Buffers& self = *static_cast<Buffers*>(user);
      const std::lock_guard<std::mutex> lock(self.mutex_);
      *bytes = 0;
      if (self.left_ == 0) return nullptr;
      --self.left_;
      *bytes = self.bytes_;
      self.lent_.push_back(std::make_unique<char[]>(self.bytes_));
      return self.lent_.back().get();
    };
    config.buffer_return = [](void* user, void* buffer, uint64_t used, uint64_t dropped) {
      Buffers& self = *static_cast<Buffers*>(user);
      const std::lock_guard<std::mutex> lock(self.mutex_);
      EXPECT_FALSE(self.closed_);
      self.dropped_ += dropped;
      ASSERT_LE(used, self.bytes_);
      for (uint64_t at = 0; at < used; at += sizeof(tenon_record)) {
        tenon_record record;
        std::memcpy(&record, static_cast<char*>(buffer) + at, sizeof record);
        ++self.seen_[record.header.correlation_id];
      }
      if (buffer != nullptr) ++self.returned_;
    };
    return config;
  }
  void Close() {
    const std::lock_guard<std::mutex> lock(mutex_);
    closed_ = true;
  }
  uint64_t records() {
    const std::lock_guard<std::mutex> lock(mutex_);
    uint64_t sum = 0;
    for (const auto& one : seen_) sum += one.second;
    return sum;
  }

  std::map<uint64_t, uint64_t> seen_;  // by correlation id
  uint64_t dropped_ = 0, returned_ = 0;
  std::vector<std::unique_ptr<char[]>> lent_;

 private:
  std::mutex mutex_;
  const uint64_t bytes_;
  uint64_t left_;
  bool closed_ = false;
};

class ProfiledPlugin : public sdk::Plugin {
 public:
  sdk::Profiler* profiler() override { return &profiler_; }
  sdk::Profiler profiler_{/*inline_calls=*/true};
};

class SdkProfiler : public testing::Test {
 protected:
  void SetUp() override {
    tenon_create_args args = TENON_INIT(tenon_create_args);
    args.host = &host_.api;
    ASSERT_EQ(sdk::CreatePlugin<ProfiledPlugin>(&args, &plugin_, nullptr), TENON_OK);
    profiler_ = sdk::Plugin::From(plugin_)->profiler();
    const tenon_interface record = sdk::ProfilerInterface();
    EXPECT_EQ(View(record.id), TENON_INTERFACE_PROFILER);
    table_ = static_cast<const tenon_profiler_vtable*>(record.vtable);
  }
  void TearDown() override { sdk::DestroyPlugin(plugin_); }

  MiniHost host_;
  tenon_plugin* plugin_ = nullptr;
  sdk::Profiler* profiler_ = nullptr;
  const tenon_profiler_vtable* table_ = nullptr;
};

tenon_record KernelRecord(uint64_t id) { return sdk::Profiler::Record(TENON_RECORD_KERNEL, id); }

TEST_F(SdkProfiler, EveryRecordOfEveryThreadArrivesOnce) {
  Buffers buffers(64);
  const tenon_profiler_config config = buffers.Config();
  tenon_profiler_session* session = nullptr;
  ASSERT_EQ(table_->start(plugin_, &config, &session, nullptr), TENON_OK);
  constexpr uint64_t kThreads = 8, kEach = 5000;
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([this, t] {
      for (uint64_t i = 0; i < kEach; ++i) profiler_->Write(KernelRecord(t * kEach + i + 1));
    });
  }
  for (int i = 0; i < 20; ++i) ASSERT_EQ(table_->flush(session, nullptr), TENON_OK);
  for (std::thread& thread : threads) thread.join();
  ASSERT_EQ(table_->stop(session, nullptr), TENON_OK);
  EXPECT_EQ(buffers.records() + buffers.dropped_, kThreads * kEach);
  for (const auto& one : buffers.seen_) ASSERT_EQ(one.second, 1u) << one.first;
  EXPECT_EQ(buffers.returned_, buffers.lent_.size());
  EXPECT_LE(buffers.dropped_, kThreads * kEach / 100) << "lanes were taken too often";
}

// L4.86: sessions come and go while threads record; after stop nothing arrives, and every buffer is back.
TEST_F(SdkProfiler, NothingIsWrittenAfterStop) {
  std::atomic<bool> ends{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      uint64_t id = 0;
      while (!ends.load()) {
        if (profiler_->Wants(TENON_RECORD_KERNEL)) profiler_->Write(KernelRecord(++id));
        std::this_thread::yield();
      }
    });
  }
  std::vector<std::unique_ptr<Buffers>> all;
  for (int round = 0; round < 100; ++round) {
    all.push_back(std::make_unique<Buffers>(16, 20));
    const tenon_profiler_config config = all.back()->Config();
    tenon_profiler_session* session = nullptr;
    ASSERT_EQ(table_->start(plugin_, &config, &session, nullptr), TENON_OK);
    while (round % 10 == 0 && all.back()->records() == 0) ASSERT_EQ(table_->flush(session, nullptr), TENON_OK);
    ASSERT_EQ(table_->stop(session, nullptr), TENON_OK);
    all.back()->Close();
    EXPECT_EQ(all.back()->returned_, all.back()->lent_.size());
  }
  ends = true;
  for (std::thread& thread : threads) thread.join();
}

TEST_F(SdkProfiler, TheMaskChooses) {
  Buffers buffers(8);
  const tenon_profiler_config config = buffers.Config(uint64_t{1} << TENON_RECORD_COPY);
  EXPECT_FALSE(profiler_->Wants(TENON_RECORD_COPY));
  tenon_profiler_session* session = nullptr;
  ASSERT_EQ(table_->start(plugin_, &config, &session, nullptr), TENON_OK);
  EXPECT_TRUE(profiler_->Wants(TENON_RECORD_COPY));
  EXPECT_FALSE(profiler_->Wants(TENON_RECORD_KERNEL));
  profiler_->Write(KernelRecord(1));
  profiler_->Write(sdk::Profiler::Record(TENON_RECORD_COPY, 2));
  ASSERT_EQ(table_->set_mask(session, 0, nullptr), TENON_OK);
  profiler_->Write(sdk::Profiler::Record(TENON_RECORD_COPY, 3));
  ASSERT_EQ(table_->stop(session, nullptr), TENON_OK);
  EXPECT_EQ(buffers.seen_, (std::map<uint64_t, uint64_t>{{2, 1}}));
}

// L4.85: what finds no buffer is counted, also when there is none at all.
TEST_F(SdkProfiler, DroppedRecordsAreCounted) {
  for (const uint64_t most : {0u, 1u, 3u}) {
    Buffers buffers(10, most);
    const tenon_profiler_config config = buffers.Config();
    tenon_profiler_session* session = nullptr;
    ASSERT_EQ(table_->start(plugin_, &config, &session, nullptr), TENON_OK);
    for (uint64_t i = 1; i <= 50; ++i) profiler_->Write(KernelRecord(i));
    ASSERT_EQ(table_->stop(session, nullptr), TENON_OK);
    EXPECT_EQ(buffers.records(), 10 * most);
    EXPECT_EQ(buffers.dropped_, 50 - 10 * most);
  }
}

TEST_F(SdkProfiler, OneSessionAtATime) {
  Buffers buffers(8);
  const tenon_profiler_config config = buffers.Config();
  tenon_profiler_session *first = nullptr, *second = nullptr;
  ASSERT_EQ(table_->start(plugin_, &config, &first, nullptr), TENON_OK);
  tenon_error error;
  EXPECT_EQ(table_->start(plugin_, &config, &second, &error), TENON_ALREADY_EXISTS);
  EXPECT_EQ(second, nullptr);
  EXPECT_EQ(table_->stop(first, nullptr), TENON_OK);
  ASSERT_EQ(table_->start(plugin_, &config, &second, nullptr), TENON_OK);
  EXPECT_EQ(table_->stop(second, nullptr), TENON_OK);
}

TEST_F(SdkProfiler, AConfigWithoutCallbacksIsRefused) {
  tenon_profiler_config config = TENON_INIT(tenon_profiler_config);
  tenon_profiler_session* session = nullptr;
  EXPECT_EQ(table_->start(plugin_, &config, &session, nullptr), TENON_INVALID_ARGUMENT);
}

TEST_F(SdkProfiler, ClocksAreTheHostsUnlessTheyAreTold) {
  uint32_t count = 0;
  ASSERT_EQ(table_->clock_count(plugin_, &count, nullptr), TENON_OK);
  EXPECT_EQ(count, 1u);
  tenon_clock_info info = TENON_INIT(tenon_clock_info);
  ASSERT_EQ(table_->clock_info(plugin_, 0, &info, nullptr), TENON_OK);
  EXPECT_EQ(info.ns_per_tick, 1.0);
  tenon_clock_pair pair = TENON_INIT(tenon_clock_pair);
  ASSERT_EQ(table_->clock_pair(plugin_, 0, &pair, nullptr), TENON_OK);
  EXPECT_LE(pair.host_ns > pair.domain_ticks ? pair.host_ns - pair.domain_ticks : pair.domain_ticks - pair.host_ns,
            pair.uncertainty_ns);
  tenon_error error;
  EXPECT_EQ(table_->clock_pair(plugin_, 1, &pair, &error), TENON_OUT_OF_RANGE);
  EXPECT_NE(error.message.find("clock domain 1"), std::string::npos);
}

TEST_F(SdkProfiler, APluginWithoutAProfilerSaysSo) {
  class Plain : public sdk::Plugin {};
  tenon_create_args args = TENON_INIT(tenon_create_args);
  args.host = &host_.api;
  tenon_plugin* plain = nullptr;
  ASSERT_EQ(sdk::CreatePlugin<Plain>(&args, &plain, nullptr), TENON_OK);
  uint32_t count = 0;
  tenon_error error;
  EXPECT_EQ(table_->clock_count(plain, &count, &error), TENON_UNAVAILABLE);
  sdk::DestroyPlugin(plain);
}

}  // namespace
}  // namespace tenon::test
