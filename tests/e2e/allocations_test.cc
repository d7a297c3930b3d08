// A steady training step of mode: graph allocates nothing on the heap in the core, the sdk or our plugins. Every way to
// the heap is counted by who asked: the first library on the stack above libc and libstdc++. What a vendor's library
// asks for is counted apart and printed.
#include <dlfcn.h>
#include <execinfo.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <new>
#include <string>

#include "core/data/open_data.h"
#include "core/exec/runtime.h"
#include "core/train/network.h"
#include "core/train/step_runner.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TENON_COUNTS_ALLOCATIONS 0
#else
#define TENON_COUNTS_ALLOCATIONS 1
#endif

namespace {

constexpr int kMostRecords = 1 << 16;
constexpr int kMostFrames = 24;

struct Record {
  void* frames[kMostFrames];
  int count;
};
std::atomic<bool> g_counting{false};
std::atomic<int> g_records{0};
Record g_record[kMostRecords];

}  // namespace

#if TENON_COUNTS_ALLOCATIONS
namespace {

thread_local bool t_inside = false;

void Note() {
  if (!g_counting.load(std::memory_order_relaxed) || t_inside) return;
  t_inside = true;
  const int at = g_records.fetch_add(1);
  if (at < kMostRecords) g_record[at].count = backtrace(g_record[at].frames, kMostFrames);
  t_inside = false;
}

}  // namespace

extern "C" {
void* __libc_malloc(std::size_t bytes);
void* __libc_calloc(std::size_t count, std::size_t bytes);
void* __libc_realloc(void* memory, std::size_t bytes);
void* __libc_memalign(std::size_t align, std::size_t bytes);

#define TENON_INTERPOSES __attribute__((visibility("default"), used))
TENON_INTERPOSES void* malloc(std::size_t bytes) {
  Note();
  return __libc_malloc(bytes);
}
TENON_INTERPOSES void* calloc(std::size_t count, std::size_t bytes) {
  Note();
  return __libc_calloc(count, bytes);
}
TENON_INTERPOSES void* realloc(void* memory, std::size_t bytes) {
  Note();
  return __libc_realloc(memory, bytes);
}
TENON_INTERPOSES void* aligned_alloc(std::size_t align, std::size_t bytes) {
  Note();
  return __libc_memalign(align, bytes);
}
TENON_INTERPOSES void* memalign(std::size_t align, std::size_t bytes) {
  Note();
  return __libc_memalign(align, bytes);
}
TENON_INTERPOSES int posix_memalign(void** out, std::size_t align, std::size_t bytes) {
  Note();
  *out = __libc_memalign(align, bytes);
  return *out == nullptr ? ENOMEM : 0;
}
}
#endif

namespace tenon {
namespace {

bool Contains(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

struct Caller {
  std::string library;
  std::string frames;  // for the message
};

// The first library on the stack that is not part of the language runtime; frame 0 and 1 are the interposer.
Caller CallerOf(const Record& record) {
  Caller caller;
  for (int i = 2; i < record.count; ++i) {
    Dl_info info{};
    if (dladdr(record.frames[i], &info) == 0 || info.dli_fname == nullptr) continue;
    const std::string file = info.dli_fname;
    const auto offset = static_cast<char*>(record.frames[i]) - static_cast<char*>(info.dli_fbase);
    char text[512];
    std::snprintf(text, sizeof text, "    %s %s +0x%tx\n", file.c_str(),
                  info.dli_sname == nullptr ? "" : info.dli_sname, offset);
    caller.frames += text;
    if (!caller.library.empty() || Contains(file, "libstdc++") || Contains(file, "libc.so") ||
        Contains(file, "libgcc_s"))
      continue;
    caller.library = file;
  }
  return caller;
}

// Whether a recorded allocation was asked for by such a library.
bool AnyOf(const char* part) {
  for (int i = 0; i < std::min<int>(g_records, kMostRecords); ++i) {
    if (Contains(CallerOf(g_record[i]).library, part)) return true;
  }
  return false;
}

class AllocationsTest : public testing::TestWithParam<const char*> {};

TEST_P(AllocationsTest, SteadyStepsAllocateNothingOfOurs) {
  if (!TENON_COUNTS_ALLOCATIONS) GTEST_SKIP() << "A sanitizer owns the heap.";
  const auto tree = LoadConfigText(std::string("name: test\n") + GetParam(), "test", ".");
  ASSERT_TRUE(tree.ok()) << tree.status().ToString();
  const auto config = ReadRunConfig(*tree);
  ASSERT_TRUE(config.ok()) << config.status().ToString();
  const auto network = Network::Make(config->network);
  ASSERT_TRUE(network.ok());
  const auto data = OpenData(config->data, {});
  ASSERT_TRUE(data.ok()) << data.status().ToString();
  const auto runtime = exec::Runtime::Open({});
  ASSERT_TRUE(runtime.ok()) << runtime.status().ToString();
  StepRunnerOptions options;
  options.config = &*config;
  options.layout = data->layout();
  const auto runner = MakeStepRunner(**runtime, *network, options);
  const auto loader = data->TrainLoader();
  ASSERT_TRUE(loader.ok());
  ASSERT_TRUE((*loader)->Start(0).ok());
  const auto batch = (*loader)->Next();
  ASSERT_TRUE(batch.ok());
  const auto steps = [&](int from, int to) {
    for (int step = from; step < to; ++step) {
      const auto loss = runner->Train(**batch, 0.01, step);
      if (!loss.ok()) return loss.status().ToString();
    }
    return std::string();
  };
  void* warm[4];
  backtrace(warm, 4);  // its first call loads a library
  g_records = 0;
  g_counting = true;
  const std::string planned = steps(0, 1);
  g_counting = false;
  ASSERT_EQ(planned, "");
  EXPECT_TRUE(AnyOf("/tests/")) << "the first step plans: allocations of the core are seen";
  EXPECT_TRUE(AnyOf("/device_cpu.so")) << "and those of the plugin";
  ASSERT_EQ(steps(1, 5), "");
  constexpr int kCounted = 20;
  g_records = 0;
  g_counting = true;
  const std::string failure = steps(5, 5 + kCounted);
  g_counting = false;
  ASSERT_EQ(failure, "");
  std::map<std::string, int> of_vendors;
  int ours = 0;
  for (int i = 0; i < std::min<int>(g_records, kMostRecords); ++i) {
    const Caller caller = CallerOf(g_record[i]);
    const bool own = Contains(caller.library, "/tests/") || Contains(caller.library, "/tenon/plugins/");
    if (!own) {
      ++of_vendors[caller.library];
    } else if (++ours <= 3) {
      ADD_FAILURE() << "An allocation of " << caller.library << ":\n" << caller.frames;
    }
  }
  EXPECT_EQ(ours, 0) << "allocations in " << kCounted << " steps";
  if (of_vendors.empty()) std::printf("no allocations in %d steps\n", kCounted);
  for (const auto& entry : of_vendors)
    std::printf("%s: %.1f allocations a step\n", entry.first.c_str(), static_cast<double>(entry.second) / kCounted);
}

INSTANTIATE_TEST_SUITE_P(
    Networks, AllocationsTest,
    testing::Values(
        "data: {type: synthetic, samples: 32, classes: 10, batch: 32, workers: 0, image: {shape: [1, 28, 28]}}\n"
        "network: {zoo: lenet5}\noptimizer: {type: sgd, lr: 0.01, momentum: 0.9}\n",
        "data: {type: synthetic, samples: 128, classes: 10, batch: 128, workers: 0, image: {shape: [1, 28, 28]}}\n"
        "network: {zoo: mlp}\noptimizer: {type: adam, lr: 0.001}\n"));

}  // namespace
}  // namespace tenon
