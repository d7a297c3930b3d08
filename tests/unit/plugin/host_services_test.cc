#include "core/plugin/host_services.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <limits>
#include <set>
#include <thread>
#include <vector>

#include "core/plugin/completion.h"
#include "core/plugin/error_sink.h"
#include "core/plugin/host_handles.h"
#include "tests/support/temp_folder.h"
#include "tests/support/yaml_text.h"

namespace tenon {
namespace {

using testing_support::TempFolder;
using testing_support::Yaml;

constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

// One instance's services with the arguments that every slot takes.
struct Host {
  explicit Host(ThreadPool* pool = nullptr, ConfigNode options = {}, std::string cache = "")
      : services(HostContext{pool, std::move(cache)}, "com.vendor.npu", "npu.so", std::move(options)),
        api(services.api()),
        host(api->host) {}
  HostServices services;
  const tenon_host_api* api;
  tenon_host* host;
  tenon_error error;
};

TEST(HostServices, EveryRequiredSlotIsThere) {
  Host h;
  EXPECT_EQ(h.api->struct_size, sizeof(tenon_host_api));
  // All slots up to the optional ones are pointers, one after the other.
  const char* begin = reinterpret_cast<const char*>(&h.api->error_set);
  const char* end = reinterpret_cast<const char*>(&h.api->trace_begin);
  for (const char* at = begin; at < end; at += sizeof(void*)) {
    void* slot = nullptr;
    std::memcpy(&slot, at, sizeof(slot));
    EXPECT_NE(slot, nullptr) << "slot " << (at - begin) / 8;
  }
}

TEST(HostServices, MemoryIsAlignedAndCounted) {
  Host h;
  void* memory = nullptr;
  ASSERT_EQ(h.api->mem_alloc(h.host, 1000, 4096, TENON_STR("pool"), &memory, &h.error), TENON_OK);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory) % 4096, 0U);
  EXPECT_GE(h.services.held_bytes(), 1000);
  h.api->mem_free(h.host, memory);
  EXPECT_EQ(h.services.held_bytes(), 0);
  ASSERT_EQ(h.api->mem_alloc(h.host, 0, 8, TENON_STR("pool"), &memory, &h.error), TENON_OK);
  EXPECT_EQ(memory, nullptr);
  h.api->mem_free(h.host, nullptr);
  EXPECT_EQ(h.api->mem_alloc(h.host, 8, 24, TENON_STR("pool"), &memory, &h.error), TENON_INVALID_ARGUMENT);
  EXPECT_EQ(h.api->mem_alloc(h.host, std::uint64_t{1} << 60, 64, TENON_STR("pool"), &memory, &h.error),
            TENON_RESOURCE_EXHAUSTED);
  EXPECT_EQ(h.error.requested_bytes, std::uint64_t{1} << 60);
  EXPECT_EQ(h.error.message_text(), "Host memory for 'pool' could not be allocated.");
}

TEST(HostServices, ErrorsAreCopiedWholeOrCutAtACharacter) {
  Host h;
  std::string text(2000, 'x');
  text.replace(950, 2, "\xc3\xa9");  // bytes 950 and 951: the last ones that could fit
  tenon_error_info info = TENON_INIT(tenon_error_info);
  info.code = TENON_DEVICE_LOST;
  info.domain = TENON_STR("npu");
  info.vendor_code = -7;
  info.message = ToStr(text);
  h.api->error_set(&h.error, &info);
  EXPECT_EQ(h.error.message_size, 952U);
  text.replace(950, 3, "x\xc3\xa9");
  info.message = ToStr(text);
  h.api->error_set(&h.error, &info);
  EXPECT_EQ(h.error.message_size, 951U);
  info.message = TENON_STR("The card fell off the bus.");
  h.api->error_set(&h.error, &info);
  const Status status = ToStatus(TENON_DEVICE_LOST, h.error, "plugin com.vendor.npu");
  EXPECT_EQ(status.code(), Code::kDeviceLost);
  EXPECT_EQ(status.message(), "plugin com.vendor.npu: The card fell off the bus. (npu -7)");
  h.api->error_set(nullptr, &info);
  tenon_error untouched;
  EXPECT_EQ(ToStatus(4711, untouched, "").message(), "no reason was given, only the code 4711 (UNKNOWN).");
}

TEST(HostServices, LoopsUseThePoolAndRespectGrain) {
  for (const int threads : {1, 3}) {
    ThreadPool pool(threads);
    Host h(&pool);
    EXPECT_EQ(h.api->thread_budget(h.host), static_cast<std::uint32_t>(threads));
    struct Sum {
      std::atomic<std::uint64_t> total{0};
      std::atomic<std::uint32_t> workers{0};
      std::atomic<std::uint64_t> smallest{~std::uint64_t{0}};
    } sum;
    const tenon_range_fn body = [](void* user, std::uint64_t begin, std::uint64_t end, std::uint32_t worker) {
      auto* into = static_cast<Sum*>(user);
      for (std::uint64_t i = begin; i < end; ++i) into->total += i;
      into->workers |= 1U << worker;
      std::uint64_t smallest = into->smallest;
      while (end - begin < smallest && !into->smallest.compare_exchange_weak(smallest, end - begin)) {
      }
    };
    ASSERT_EQ(h.api->parallel_for(h.host, 1000, 10, 0, body, &sum, &h.error), TENON_OK);
    EXPECT_EQ(sum.total.load(), 499500U);
    EXPECT_EQ(sum.workers.load(), (1U << threads) - 1);
    EXPECT_GE(sum.smallest.load(), 10U);
    EXPECT_EQ(h.api->parallel_for(h.host, 0, 1, 0, body, &sum, &h.error), TENON_OK);
    EXPECT_EQ(h.api->parallel_for(h.host, 5, 1, 0, nullptr, &sum, &h.error), TENON_INVALID_ARGUMENT);
  }
}

TEST(HostServices, TasksRunAndReleaseOnce) {
  struct Counts {
    std::atomic<int> runs{0}, releases{0};
  };
  const tenon_task_fn run = [](void* user) { ++static_cast<Counts*>(user)->runs; };
  const tenon_task_fn release = [](void* user) { ++static_cast<Counts*>(user)->releases; };
  Counts counts;
  {
    ThreadPool pool(2);
    Host h(&pool);
    for (int i = 0; i < 50; ++i) ASSERT_EQ(h.api->submit(h.host, run, &counts, release, &h.error), TENON_OK);
    // The pool outlives the services, which is the order of a real shutdown.
    h.services.Close();
    EXPECT_EQ(h.api->submit(h.host, run, &counts, release, &h.error), TENON_FAILED_PRECONDITION);
  }
  EXPECT_EQ(counts.runs.load(), 50);
  EXPECT_EQ(counts.releases.load(), 51);  // also for the one that was refused
}

TEST(HostServices, OptionsHaveTypesDefaultsAndBounds) {
  Host h(nullptr, Yaml("level: 1e1\npool: {bytes: 4096}\nratio: .5\nverbose: true\nname: card 0\n"));
  std::int64_t level = 0;
  const tenon_str help = TENON_STR("help");
  EXPECT_EQ(h.api->option_i64(h.host, TENON_STR("level"), 1, 0, 20, help, &level, &h.error), TENON_OK);
  EXPECT_EQ(level, 10);
  EXPECT_EQ(h.api->option_i64(h.host, TENON_STR("pool.bytes"), 1, kMin, kMax, help, &level, &h.error), TENON_OK);
  EXPECT_EQ(level, 4096);
  EXPECT_EQ(h.api->option_i64(h.host, TENON_STR("absent"), 77, 0, 100, help, &level, &h.error), TENON_OK);
  EXPECT_EQ(level, 77);
  double ratio = 0;
  EXPECT_EQ(h.api->option_f64(h.host, TENON_STR("ratio"), 1.0, help, &ratio, &h.error), TENON_OK);
  EXPECT_EQ(ratio, 0.5);
  std::uint32_t verbose = 0;
  EXPECT_EQ(h.api->option_flag(h.host, TENON_STR("verbose"), 0, help, &verbose, &h.error), TENON_OK);
  EXPECT_EQ(verbose, 1U);
  tenon_str name = TENON_STR("");
  EXPECT_EQ(h.api->option_text(h.host, TENON_STR("name"), TENON_STR("none"), help, &name, &h.error), TENON_OK);
  EXPECT_EQ(View(name), "card 0");
  EXPECT_TRUE(h.services.options().UnknownKeys().ok());
  EXPECT_EQ(h.api->option_i64(h.host, TENON_STR("name"), 5, kMin, kMax, help, &level, &h.error),
            TENON_INVALID_ARGUMENT);
  EXPECT_EQ(level, 5);
  EXPECT_EQ(h.services.options().problem().ToString(),
            "run.yaml:5:7: error: TN-PLG-084 npu.so: option 'name' needs an integer, but is the text 'card 0'.");
}

TEST(HostServices, CompletionsArriveOnceEach) {
  Host h;
  CompletionQueue queue;
  constexpr int kTokens = 200;
  std::vector<tenon_token*> tokens;
  for (int i = 0; i < kTokens; ++i)
    tokens.push_back(queue.Start(reinterpret_cast<void*>(static_cast<std::intptr_t>(i))));
  std::vector<std::thread> drivers;
  for (int part = 0; part < 4; ++part) {
    drivers.emplace_back([&, part] {
      for (int i = part; i < kTokens; i += 4)
        h.api->complete(h.host, tokens[static_cast<std::size_t>(i)], i, TENON_STR("done"));
    });
  }
  std::set<void*> seen;
  for (int i = 0; i < kTokens; ++i) {
    tenon_token* token = queue.Wait();
    EXPECT_EQ(token->code, static_cast<int>(reinterpret_cast<std::intptr_t>(token->user)));
    EXPECT_EQ(token->message(), "done");
    seen.insert(token->user);
    EXPECT_FALSE(CompletionQueue::Complete(token, 1, "again"));
    queue.Recycle(token);
  }
  for (std::thread& driver : drivers) driver.join();
  EXPECT_EQ(seen.size(), static_cast<std::size_t>(kTokens));
  EXPECT_EQ(queue.pending(), 0);
  EXPECT_EQ(queue.Poll(), nullptr);
}

TEST(HostServices, LongReasonsOfCompletionsAreCutVisibly) {
  CompletionQueue queue;
  for (const std::size_t length : {1000U, 1001U}) {
    tenon_token* token = queue.Start(nullptr);
    ASSERT_TRUE(CompletionQueue::Complete(token, 1, std::string(length, 'x')));
    const std::string text(queue.Wait()->message());
    EXPECT_EQ(text.size(), 1000U);
    EXPECT_EQ(text.substr(995), length == 1000 ? "xxxxx" : "x ...");
    queue.Recycle(token);
  }
}

class OneValue : public KeyValueStore {
 public:
  Result<std::string> Get(std::string_view key, std::uint64_t) override {
    if (key != "address") return Error(Code::kNotFound, "There is no key '{}'.", key);
    return value;
  }
  Status Put(std::string_view, std::string_view text) override {
    value = text;
    return Status();
  }
  Status Delete(std::string_view) override { return Status(); }
  std::string value;
};

TEST(HostServices, StoreCacheNamesAndCancellation) {
  const TempFolder folder;
  Host h(nullptr, {}, folder.path());
  OneValue values;
  tenon_store store{&values};
  EXPECT_EQ(h.api->store_put(&store, TENON_STR("address"), "10.0.0.1", 8, &h.error), TENON_OK);
  char buffer[16];
  std::uint64_t size = 0;
  EXPECT_EQ(h.api->store_get(&store, TENON_STR("address"), 0, buffer, sizeof(buffer), &size, &h.error), TENON_OK);
  EXPECT_EQ(std::string(buffer, size), "10.0.0.1");
  EXPECT_EQ(h.api->store_get(&store, TENON_STR("address"), 0, nullptr, 0, &size, &h.error), TENON_OUT_OF_RANGE);
  EXPECT_EQ(size, 8U);
  EXPECT_EQ(h.api->store_get(&store, TENON_STR("port"), 0, buffer, sizeof(buffer), &size, &h.error), TENON_NOT_FOUND);
  EXPECT_EQ(h.api->store_get(nullptr, TENON_STR("port"), 0, buffer, sizeof(buffer), &size, &h.error),
            TENON_UNAVAILABLE);

  tenon_str path = TENON_STR("");
  EXPECT_EQ(h.api->cache_folder(h.host, &path, &h.error), TENON_OK);
  EXPECT_EQ(View(path), folder.path() + "/com.vendor.npu");

  const std::uint64_t id = h.api->intern(h.host, TENON_STR("conv1"));
  EXPECT_NE(id, 0U);
  EXPECT_EQ(h.api->intern(h.host, TENON_STR("conv1")), id);
  EXPECT_NE(h.api->intern(h.host, TENON_STR("conv2")), id);
  EXPECT_EQ(InternedText(id), "conv1");

  tenon_cancel cancel;
  EXPECT_EQ(h.api->cancelled(&cancel), 0U);
  EXPECT_EQ(h.api->cancelled(nullptr), 0U);
  cancel.Request();
  EXPECT_EQ(h.api->cancelled(&cancel), 1U);
  EXPECT_GT(h.api->clock_ns(h.host), 0U);
}

TEST(HostServices, AfterCloseEveryFallibleServiceRefuses) {
  Host h;
  h.services.Close();
  const tenon_str text = TENON_STR("x");
  void* memory = nullptr;
  std::int64_t integer = 0;
  double number = 0;
  std::uint32_t flag = 0;
  tenon_str out = TENON_STR("");
  const tenon_range_fn range = [](void*, std::uint64_t, std::uint64_t, std::uint32_t) { FAIL(); };
  EXPECT_EQ(h.api->mem_alloc(h.host, 8, 8, text, &memory, &h.error), TENON_FAILED_PRECONDITION);
  EXPECT_EQ(h.error.message_text(), "TN-PLG-091 The plugin was shut down; the host serves it no longer.");
  EXPECT_EQ(h.api->parallel_for(h.host, 8, 1, 0, range, nullptr, &h.error), TENON_FAILED_PRECONDITION);
  EXPECT_EQ(h.api->option_i64(h.host, text, 0, 0, 1, text, &integer, &h.error), TENON_FAILED_PRECONDITION);
  EXPECT_EQ(h.api->option_f64(h.host, text, 0, text, &number, &h.error), TENON_FAILED_PRECONDITION);
  EXPECT_EQ(h.api->option_flag(h.host, text, 0, text, &flag, &h.error), TENON_FAILED_PRECONDITION);
  EXPECT_EQ(h.api->option_text(h.host, text, text, text, &out, &h.error), TENON_FAILED_PRECONDITION);
  EXPECT_EQ(h.api->cache_folder(h.host, &out, &h.error), TENON_FAILED_PRECONDITION);
  EXPECT_EQ(h.api->intern(h.host, text), 0U);
  EXPECT_EQ(h.api->thread_budget(h.host), 1U);
  h.api->log(h.host, TENON_LOG_INFO, text, text, 0);
  h.api->mem_free(h.host, nullptr);
}

}  // namespace
}  // namespace tenon
