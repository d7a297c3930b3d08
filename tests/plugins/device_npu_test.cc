// The simulated accelerator through the interface: what a host must not do with it, and what it promises.
//   TENON_NPU_PLUGIN  the plugin file
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <thread>

#include "tenon/native/npu_sim.h"
#include "tests/plugins/small_host.h"

namespace tenon::testing {
namespace {

using Clock = std::chrono::steady_clock;

std::string Plugin() {
  const char* file = std::getenv("TENON_NPU_PLUGIN");
  return file == nullptr ? "" : file;
}

double MillisecondsOf(const std::function<void()>& body) {
  const auto begin = Clock::now();
  body();
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

class NpuTest : public ::testing::Test {
 protected:
  explicit NpuTest(const std::string& options = "memory_mb=16") : host_(Plugin(), options) {}

  int32_t Allocate(uint64_t bytes, tenon_buffer** buffer, uint64_t* address) {
    return host_.memory().alloc(host_.space(), bytes, 64, nullptr, TENON_ALLOC_DEFAULT, buffer, address, host_.sink());
  }
  int32_t Copy(uint64_t source, bool from_device, uint64_t target, bool to_device, uint64_t bytes,
               tenon_stream* stream) {
    tenon_copy copy = TENON_INIT(tenon_copy);
    copy.host_source = TENON_HOST_SOURCE_DURING_CALL;
    copy.source = source;
    copy.target = target;
    copy.source_space = from_device ? host_.space() : nullptr;
    copy.target_space = to_device ? host_.space() : nullptr;
    copy.row_bytes = bytes;
    copy.rows = 1;
    return host_.memory().copy(host_.device(), &copy, stream, host_.sink());
  }
  int32_t ToDevice(const void* from, uint64_t to, uint64_t bytes, tenon_stream* stream) {
    return Copy(reinterpret_cast<uintptr_t>(from), false, to, true, bytes, stream);
  }
  int32_t ToHost(uint64_t from, void* to, uint64_t bytes, tenon_stream* stream) {
    return Copy(from, true, reinterpret_cast<uintptr_t>(to), false, bytes, stream);
  }
  tenon_stream* MakeStream() {
    const tenon_stream_options options = TENON_INIT(tenon_stream_options);
    tenon_stream* stream = nullptr;
    EXPECT_EQ(host_.streams().stream_create(host_.device(), &options, &stream, host_.sink()), TENON_OK);
    return stream;
  }
  tenon_event* MakeEvent(uint32_t flags = 0) {
    tenon_event* event = nullptr;
    EXPECT_EQ(host_.streams().event_create(host_.device(), flags, &event, host_.sink()), TENON_OK);
    return event;
  }
  // Work that takes a while, or fails, through the native handle of the stream.
  void Enqueue(tenon_stream* stream, int32_t (*fn)(void*), void* user) {
    uint64_t native = 0;
    ASSERT_EQ(host_.streams().native(stream, &native, host_.sink()), TENON_OK);
    auto* face = reinterpret_cast<tenon_npu_sim_stream*>(static_cast<uintptr_t>(native));
    ASSERT_EQ(face->enqueue(face, fn, user), TENON_OK);
  }
  static int32_t Sleep(void* milliseconds) {
    std::this_thread::sleep_for(std::chrono::milliseconds(reinterpret_cast<intptr_t>(milliseconds)));
    return TENON_OK;
  }
  static int32_t Break(void*) { return TENON_INTERNAL; }
  static void* Milliseconds(intptr_t count) { return reinterpret_cast<void*>(count); }

  SmallHost host_;
};

// ---- memory

TEST_F(NpuTest, AHostThatFollowsAnAddressCrashes) {
  ::testing::GTEST_FLAG(death_test_style) = "threadsafe";
  const DeviceMemory memory(host_, 4096);
  const auto* pointer = reinterpret_cast<const volatile char*>(static_cast<uintptr_t>(memory.address()));
  const auto by_itself = [](auto&& touch) {
    std::signal(SIGSEGV, SIG_DFL);  // not through the report of a sanitizer
    touch();
  };
  EXPECT_EXIT(by_itself([&] { (void)*pointer; }), ::testing::KilledBySignal(SIGSEGV), "");
  auto* written = const_cast<volatile char*>(pointer);
  EXPECT_EXIT(by_itself([&] { *written = 1; }), ::testing::KilledBySignal(SIGSEGV), "");
}

TEST_F(NpuTest, FullMemoryIsToldHonestlyAndUsableAfterwards) {
  tenon_buffer *first = nullptr, *second = nullptr, *third = nullptr;
  uint64_t address = 0;
  ASSERT_EQ(Allocate(10 << 20, &first, &address), TENON_OK);
  ASSERT_EQ(Allocate(7 << 20, &second, &address), TENON_RESOURCE_EXHAUSTED);
  EXPECT_EQ(second, nullptr);
  const tenon_error_info& info = host_.last_info();
  EXPECT_EQ(info.requested_bytes, uint64_t{7} << 20);
  EXPECT_EQ(info.free_bytes, uint64_t{6} << 20);
  EXPECT_EQ(info.total_bytes, uint64_t{16} << 20);
  EXPECT_EQ(info.largest_free_bytes, uint64_t{6} << 20);
  ASSERT_EQ(Allocate(6 << 20, &second, &address), TENON_OK) << host_.last_error();
  host_.memory().free(first, nullptr);
  ASSERT_EQ(Allocate(10 << 20, &third, &address), TENON_OK) << host_.last_error();
  tenon_memory_stats stats = TENON_INIT(tenon_memory_stats);
  ASSERT_EQ(host_.memory().stats(host_.space(), &stats, host_.sink()), TENON_OK);
  EXPECT_EQ(stats.current_bytes, uint64_t{16} << 20);
  EXPECT_EQ(stats.peak_bytes, uint64_t{16} << 20);
  EXPECT_EQ(stats.largest_free_bytes, 0u);
  host_.memory().free(second, nullptr);
  host_.memory().free(third, nullptr);
}

TEST_F(NpuTest, MemoryFreedBehindWorkIsThereAgainForTheNextRequest) {
  tenon_buffer *first = nullptr, *second = nullptr;
  uint64_t address = 0;
  ASSERT_EQ(Allocate(12 << 20, &first, &address), TENON_OK);
  Enqueue(host_.stream(), &Sleep, Milliseconds(30));
  host_.memory().free(first, host_.stream());
  ASSERT_EQ(Allocate(12 << 20, &second, &address), TENON_OK) << host_.last_error();
  host_.memory().free(second, nullptr);
}

TEST_F(NpuTest, CopiesOutsideAnAllocationAreRefused) {
  const DeviceMemory memory(host_, 1024);
  char bytes[2048] = {};
  EXPECT_EQ(ToDevice(bytes, memory.address(), 2048, nullptr), TENON_INVALID_ARGUMENT);
  EXPECT_EQ(ToDevice(bytes, memory.address() - 1, 16, nullptr), TENON_INVALID_ARGUMENT);
  EXPECT_EQ(Copy(memory.address(), true, memory.address() + 100, true, 200, nullptr), TENON_INVALID_ARGUMENT);
  EXPECT_EQ(Copy(memory.address(), true, memory.address() + 512, true, 512, nullptr), TENON_OK) << host_.last_error();
  uint64_t gone = 0;
  {
    const DeviceMemory freed(host_, 1024);
    gone = freed.address();
  }
  EXPECT_EQ(ToDevice(bytes, gone, 16, nullptr), TENON_INVALID_ARGUMENT);
}

TEST_F(NpuTest, TheSourceOfACopyMayChangeWhenTheCallReturns) {
  const DeviceMemory memory(host_, 1 << 20);
  std::vector<char> source(1 << 20, 'a'), back(1 << 20);
  Enqueue(host_.stream(), &Sleep, Milliseconds(20));
  ASSERT_EQ(ToDevice(source.data(), memory.address(), source.size(), host_.stream()), TENON_OK);
  std::fill(source.begin(), source.end(), 'b');
  ASSERT_EQ(ToHost(memory.address(), back.data(), back.size(), host_.stream()), TENON_OK);
  ASSERT_TRUE(host_.Finish()) << host_.last_error();
  EXPECT_EQ(std::string(back.begin(), back.begin() + 3), "aaa");
  EXPECT_EQ(back.back(), 'a');
}

TEST_F(NpuTest, RowsAreCopiedWithTheirPitches) {
  const DeviceMemory memory(host_, 64);
  const char source[] = "abcdefgh";
  tenon_copy copy = TENON_INIT(tenon_copy);
  copy.host_source = TENON_HOST_SOURCE_DURING_CALL;
  copy.source = reinterpret_cast<uintptr_t>(source);
  copy.target_space = host_.space();
  copy.target = memory.address();
  copy.row_bytes = 2;
  copy.rows = 3;
  copy.source_pitch = 3;
  copy.target_pitch = 4;
  ASSERT_EQ(host_.memory().copy(host_.device(), &copy, nullptr, host_.sink()), TENON_OK) << host_.last_error();
  unsigned char back[12] = {};
  memory.Read(back, sizeof back);
  const unsigned char expected[] = {'a', 'b', 255, 255, 'd', 'e', 255, 255, 'g', 'h', 255, 255};
  EXPECT_EQ(std::memcmp(back, expected, sizeof back), 0);
}

TEST_F(NpuTest, WrappedMemoryMustBeTheDevices) {
  int ended = 0;
  const auto deleter = [](void* user) { ++*static_cast<int*>(user); };
  char ours[64];
  tenon_buffer* buffer = nullptr;
  EXPECT_EQ(host_.memory().wrap_external(host_.space(), reinterpret_cast<uintptr_t>(ours), sizeof ours, deleter, &ended,
                                         &buffer, host_.sink()),
            TENON_INVALID_ARGUMENT);
  EXPECT_EQ(ended, 1);
  const DeviceMemory memory(host_, 64);
  ASSERT_EQ(host_.memory().wrap_external(host_.space(), memory.address(), 64, deleter, &ended, &buffer, host_.sink()),
            TENON_OK);
  host_.memory().free(buffer, nullptr);
  EXPECT_EQ(ended, 2);
}

TEST_F(NpuTest, AnotherPluginFindsMemoryInTheFile) {
  const DeviceMemory memory(host_, 4096);
  memory.Write("tenon", 5);
  uint64_t native = 0, offset = 0;
  ASSERT_EQ(host_.streams().native(host_.stream(), &native, host_.sink()), TENON_OK);
  auto* face = reinterpret_cast<tenon_npu_sim_stream*>(static_cast<uintptr_t>(native));
  int32_t file = -1;
  EXPECT_EQ(face->locate(face, memory.address(), 1 << 20, &file, &offset), TENON_INVALID_ARGUMENT);
  ASSERT_EQ(face->locate(face, memory.address(), 4096, &file, &offset), TENON_OK);
  const uint64_t page = offset / 4096 * 4096;
  void* mapped = mmap(nullptr, 8192, PROT_READ, MAP_SHARED, file, static_cast<off_t>(page));
  ASSERT_NE(mapped, MAP_FAILED);
  EXPECT_EQ(std::memcmp(static_cast<char*>(mapped) + (offset - page), "tenon", 5), 0);
  munmap(mapped, 8192);
}

// ---- streams and events

TEST_F(NpuTest, AnEventThatWasNeverRecordedIsAnError) {
  tenon_event* event = MakeEvent();
  EXPECT_EQ(host_.streams().event_query(event, host_.sink()), TENON_FAILED_PRECONDITION);
  EXPECT_EQ(host_.streams().event_synchronize(event, 0, host_.sink()), TENON_FAILED_PRECONDITION);
  EXPECT_EQ(host_.streams().stream_wait_event(host_.stream(), event, host_.sink()), TENON_FAILED_PRECONDITION);
  host_.streams().event_destroy(event);
}

TEST_F(NpuTest, AnEventOrdersTwoStreams) {
  const DeviceMemory memory(host_, 8);
  tenon_stream* other = MakeStream();
  tenon_event* event = MakeEvent();
  for (uint64_t round = 1; round <= 3; ++round) {  // recording again moves the event
    Enqueue(host_.stream(), &Sleep, Milliseconds(10));
    ASSERT_EQ(ToDevice(&round, memory.address(), 8, host_.stream()), TENON_OK);
    ASSERT_EQ(host_.streams().event_record(event, host_.stream(), host_.sink()), TENON_OK);
    EXPECT_EQ(host_.streams().event_query(event, host_.sink()), TENON_WOULD_BLOCK);
    ASSERT_EQ(host_.streams().stream_wait_event(other, event, host_.sink()), TENON_OK);
    uint64_t seen = 0;
    ASSERT_EQ(ToHost(memory.address(), &seen, 8, other), TENON_OK);
    ASSERT_EQ(host_.streams().stream_synchronize(other, UINT64_MAX, host_.sink()), TENON_OK);
    EXPECT_EQ(seen, round);
    EXPECT_EQ(host_.streams().event_query(event, host_.sink()), TENON_OK);
  }
  host_.streams().event_destroy(event);
  host_.streams().stream_destroy(other);
}

TEST_F(NpuTest, WaitsEndAfterTheirTime) {
  Enqueue(host_.stream(), &Sleep, Milliseconds(200));
  EXPECT_EQ(host_.streams().stream_query(host_.stream(), host_.sink()), TENON_WOULD_BLOCK);
  EXPECT_EQ(host_.streams().stream_synchronize(host_.stream(), 1000000, host_.sink()), TENON_DEADLINE_EXCEEDED);
  EXPECT_TRUE(host_.Finish());
  EXPECT_EQ(host_.streams().stream_query(host_.stream(), host_.sink()), TENON_OK);
}

TEST_F(NpuTest, TimeIsThatOfTheSimulation) {
  const DeviceMemory memory(host_, 1 << 20);
  tenon_event *from = MakeEvent(TENON_EVENT_TIMING), *to = MakeEvent(TENON_EVENT_TIMING);
  std::vector<char> bytes(1 << 20);
  ASSERT_EQ(host_.streams().event_record(from, host_.stream(), host_.sink()), TENON_OK);
  ASSERT_EQ(ToDevice(bytes.data(), memory.address(), bytes.size(), host_.stream()), TENON_OK);
  ASSERT_EQ(host_.streams().event_record(to, host_.stream(), host_.sink()), TENON_OK);
  ASSERT_TRUE(host_.Finish());
  double ns = 0;
  ASSERT_EQ(host_.streams().event_elapsed(from, to, &ns, host_.sink()), TENON_OK) << host_.last_error();
  EXPECT_EQ(ns, 2000 + (1 << 20) / 16);  // README.md: of every transfer, and bytes a cycle
  host_.streams().event_destroy(from);
  host_.streams().event_destroy(to);
}

TEST_F(NpuTest, WhatIsDestroyedWhilePendingStillEndsAndTellsOnce) {
  int tokens[3] = {};
  {
    tenon_stream* stream = MakeStream();
    tenon_event* event = MakeEvent();
    Enqueue(stream, &Sleep, Milliseconds(30));
    for (int& token : tokens) {
      ASSERT_EQ(host_.streams().stream_notify(stream, reinterpret_cast<tenon_token*>(&token), host_.sink()), TENON_OK);
    }
    ASSERT_EQ(host_.streams().event_record(event, stream, host_.sink()), TENON_OK);
    ASSERT_EQ(host_.streams().stream_wait_event(host_.stream(), event, host_.sink()), TENON_OK);
    host_.streams().event_destroy(event);
    host_.streams().stream_destroy(stream);
  }
  ASSERT_TRUE(host_.Finish());
  for (int& token : tokens) {
    const auto found = host_.completions().find(&token);
    ASSERT_NE(found, host_.completions().end());
    EXPECT_EQ(found->second, std::vector<int32_t>{TENON_OK});
  }
}

TEST_F(NpuTest, AFailureStaysAndReachesWhoWaits) {
  const DeviceMemory memory(host_, 8);
  const uint64_t zero = 0, one = 1;
  memory.Write(&zero, 8);
  tenon_stream *failed = MakeStream(), *waiting = MakeStream();
  tenon_event* event = MakeEvent();
  Enqueue(failed, &Break, nullptr);
  ASSERT_EQ(ToDevice(&one, memory.address(), 8, failed), TENON_OK);  // is skipped
  ASSERT_EQ(host_.streams().event_record(event, failed, host_.sink()), TENON_OK);
  ASSERT_EQ(host_.streams().stream_wait_event(waiting, event, host_.sink()), TENON_OK);
  for (tenon_stream* stream : {failed, waiting, failed}) {
    EXPECT_EQ(host_.streams().stream_synchronize(stream, UINT64_MAX, host_.sink()), TENON_INTERNAL);
    EXPECT_EQ(host_.streams().stream_query(stream, host_.sink()), TENON_INTERNAL);
  }
  EXPECT_EQ(host_.streams().event_query(event, host_.sink()), TENON_INTERNAL);
  uint64_t seen = 7;
  memory.Read(&seen, 8);
  EXPECT_EQ(seen, 0u);
  EXPECT_EQ(host_.devices().status(host_.device(), host_.sink()), TENON_OK);
  host_.streams().event_destroy(event);
  host_.streams().stream_destroy(waiting);
  host_.streams().stream_destroy(failed);
}

// ---- layouts

TEST_F(NpuTest, TiledMatricesComeBackAsTheyWere) {
  const uint32_t tiled = host_.FindLayout("npu.tile16");
  ASSERT_NE(tiled, TENON_LAYOUT_STRIDED);
  const int64_t dims[] = {2, 17, 30};
  tenon_layout_info info = TENON_INIT(tenon_layout_info);
  ASSERT_EQ(host_.devices().layout_info(host_.device(), tiled, TENON_DTYPE_F32, 3, dims, &info, host_.sink()),
            TENON_OK);
  EXPECT_EQ(info.bytes, 2u * 32 * 32 * 4);
  EXPECT_EQ(info.flags, TENON_LAYOUT_ZERO_PADDED);
  const DeviceMemory plain(host_, 2 * 17 * 30 * 4), tiles(host_, info.bytes), again(host_, 2 * 17 * 30 * 4);
  std::vector<float> values(2 * 17 * 30), back(values.size()), stored(info.bytes / 4);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i + 1);
  plain.Write(values.data(), values.size() * 4);
  const auto view = [&](const DeviceMemory& memory, uint32_t layout) {
    tenon_tensor tensor = TENON_INIT(tenon_tensor);
    tensor.address = memory.address();
    tensor.dtype = TENON_DTYPE_F32;
    tensor.rank = 3;
    tensor.dims = dims;
    tensor.layout = layout;
    return tensor;
  };
  const tenon_tensor a = view(plain, 0), b = view(tiles, tiled), c = view(again, 0);
  ASSERT_EQ(host_.devices().reorder(host_.device(), &a, &b, host_.stream(), host_.sink()), TENON_OK);
  ASSERT_EQ(host_.devices().reorder(host_.device(), &b, &c, host_.stream(), host_.sink()), TENON_OK);
  ASSERT_TRUE(host_.Finish());
  again.Read(back.data(), back.size() * 4);
  EXPECT_EQ(back, values);
  tiles.Read(stored.data(), info.bytes);
  EXPECT_EQ(stored[0], 1);
  EXPECT_EQ(stored[16], 31);                // the next row of the first tile
  EXPECT_EQ(stored[256], 16 * 30 + 1);      // the tile below
  EXPECT_EQ(stored[256 + 16], 0);           // a row beyond the matrix
  EXPECT_EQ(stored[2 * 256], 17);           // the tiles to the right
  EXPECT_EQ(stored[4 * 256], 17 * 30 + 1);  // the second matrix
}

// ---- faults

class LostNpuTest : public NpuTest {
 protected:
  LostNpuTest() : NpuTest("memory_mb=16 faults.lost_at_call=3") {}
};

TEST_F(LostNpuTest, ALostDeviceIsLostForEveryObject) {
  const DeviceMemory memory(host_, 8);  // call 1 fills it
  tenon_stream* other = MakeStream();
  tenon_event* event = MakeEvent();
  ASSERT_EQ(host_.streams().event_record(event, other, host_.sink()), TENON_OK);
  ASSERT_EQ(host_.streams().event_synchronize(event, UINT64_MAX, host_.sink()), TENON_OK);
  int token = 0;
  const uint64_t value = 5;
  Enqueue(host_.stream(), &Sleep, Milliseconds(20));
  ASSERT_EQ(ToDevice(&value, memory.address(), 8, host_.stream()), TENON_OK);  // call 2
  ASSERT_EQ(ToDevice(&value, memory.address(), 8, host_.stream()), TENON_OK);  // call 3
  ASSERT_EQ(host_.streams().stream_notify(host_.stream(), reinterpret_cast<tenon_token*>(&token), host_.sink()),
            TENON_OK);
  EXPECT_EQ(host_.streams().stream_synchronize(host_.stream(), UINT64_MAX, host_.sink()), TENON_DEVICE_LOST);
  EXPECT_EQ(host_.last_error(), "The device was lost at call 3 (option faults.lost_at_call).");
  EXPECT_EQ(host_.completions().at(&token), std::vector<int32_t>{TENON_DEVICE_LOST});
  EXPECT_EQ(host_.devices().status(host_.device(), host_.sink()), TENON_DEVICE_LOST);
  EXPECT_EQ(host_.streams().stream_query(other, host_.sink()), TENON_DEVICE_LOST);
  EXPECT_EQ(host_.streams().event_query(event, host_.sink()), TENON_DEVICE_LOST);
  EXPECT_EQ(ToDevice(&value, memory.address(), 8, nullptr), TENON_DEVICE_LOST);
  tenon_buffer* buffer = nullptr;
  uint64_t address = 0;
  EXPECT_EQ(Allocate(8, &buffer, &address), TENON_DEVICE_LOST);
  const tenon_stream_options options = TENON_INIT(tenon_stream_options);
  tenon_stream* none = nullptr;
  EXPECT_EQ(host_.streams().stream_create(host_.device(), &options, &none, host_.sink()), TENON_DEVICE_LOST);
  tenon_device* again = nullptr;  // opened again it works
  ASSERT_EQ(host_.devices().open(host_.plugin(), 0, &again, host_.sink()), TENON_OK);
  EXPECT_EQ(host_.devices().status(again, host_.sink()), TENON_OK);
  host_.devices().close(again);
  host_.streams().event_destroy(event);
  host_.streams().stream_destroy(other);
}

class TightNpuTest : public NpuTest {
 protected:
  TightNpuTest() : NpuTest("memory_mb=16 faults.out_of_memory_bytes=4096") {}
};

TEST_F(TightNpuTest, MemoryEndsWhereTheFaultSays) {
  tenon_buffer *first = nullptr, *second = nullptr;
  uint64_t address = 0;
  ASSERT_EQ(Allocate(3072, &first, &address), TENON_OK);
  ASSERT_EQ(Allocate(2048, &second, &address), TENON_RESOURCE_EXHAUSTED);
  EXPECT_EQ(host_.last_info().free_bytes, 1024u);
  EXPECT_EQ(host_.last_info().total_bytes, 4096u);
  host_.memory().free(first, nullptr);
  ASSERT_EQ(Allocate(2048, &second, &address), TENON_OK);
  host_.memory().free(second, nullptr);
}

class LateNpuTest : public NpuTest {
 protected:
  LateNpuTest() : NpuTest("memory_mb=16 faults.late_completion_ms=40") {}
};

TEST_F(LateNpuTest, CompletionsComeLate) {
  EXPECT_EQ(host_.streams().stream_synchronize(host_.stream(), 1000000, host_.sink()), TENON_DEADLINE_EXCEEDED);
  const double took = MillisecondsOf([&] { EXPECT_TRUE(host_.Finish()); });
  EXPECT_GE(took, 40);
}

class SlowNpuTest : public NpuTest {
 protected:
  SlowNpuTest() : NpuTest("memory_mb=16 faults.slow_copy_ms_per_mb=50") {}
};

TEST_F(SlowNpuTest, TransfersTakeLongAndTheStreamWaitsForThem) {
  const DeviceMemory memory(host_, 1 << 20);
  std::vector<char> bytes(1 << 20);
  const double enqueued = MillisecondsOf(
      [&] { ASSERT_EQ(ToDevice(bytes.data(), memory.address(), bytes.size(), host_.stream()), TENON_OK); });
  const double waited = MillisecondsOf([&] { EXPECT_TRUE(host_.Finish()); });
  EXPECT_GE(enqueued + waited, 50);
}

}  // namespace
}  // namespace tenon::testing
