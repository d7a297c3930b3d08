// Memory, queues, layouts and numbers of the simulated accelerator on their own.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <limits>
#include <thread>
#include <vector>

#include "kernels/number.h"
#include "layout.h"
#include "runtime/cost.h"
#include "runtime/memory.h"
#include "runtime/queue.h"
#include "runtime/recorder.h"

namespace tenon::npu {
namespace {

constexpr uint64_t kMb = uint64_t{1} << 20;

TEST(Memory, JoinsWhatIsGivenBack) {
  Memory memory(kMb);
  uint64_t blocks[4] = {};
  for (uint64_t& block : blocks) ASSERT_TRUE(memory.Take(kMb / 4, 1, block));
  uint64_t more = 0;
  EXPECT_FALSE(memory.Take(1, 1, more));
  memory.Give(blocks[0]);
  memory.Give(blocks[2]);
  EXPECT_EQ(memory.stats().largest_free, kMb / 4);
  memory.Give(blocks[1]);
  EXPECT_EQ(memory.stats().largest_free, 3 * kMb / 4);
  EXPECT_EQ(memory.stats().current, kMb / 4);
  EXPECT_EQ(memory.stats().peak, kMb);
  ASSERT_TRUE(memory.Take(3 * kMb / 4, 1, more));
  EXPECT_EQ(more, blocks[0]);
}

TEST(Memory, AlignsAndBounds) {
  Memory memory(kMb);
  uint64_t first = 0, second = 0;
  ASSERT_TRUE(memory.Take(1, 1, first));
  ASSERT_TRUE(memory.Take(100, 4096, second));
  EXPECT_EQ(first % Memory::kAlign, 0u);
  EXPECT_EQ(second % 4096, 0u);
  EXPECT_NE(memory.Resolve(second, 100), nullptr);
  EXPECT_NE(memory.Resolve(second + 99, 1), nullptr);
  EXPECT_EQ(memory.Resolve(second, 257), nullptr);  // beyond the block, which is a multiple of 256 bytes
  EXPECT_EQ(memory.Resolve(second - 1, 1), nullptr);
  EXPECT_EQ(memory.Resolve(0, 1), nullptr);
  EXPECT_EQ(memory.Resolve(second, UINT64_MAX), nullptr);
  EXPECT_EQ(*memory.Resolve(second, 1), std::byte{0xFF});
  memory.Give(second);
  EXPECT_EQ(memory.Resolve(second, 1), nullptr);
  EXPECT_FALSE(memory.Take(UINT64_MAX - 3, 1, second));
}

// A host that notes completions.
class Host {
 public:
  Host() {
    api_.struct_size = sizeof api_;
    api_.host = reinterpret_cast<tenon_host*>(this);
    api_.complete = [](tenon_host* host, tenon_token*, int32_t code, tenon_str) {
      reinterpret_cast<Host*>(host)->codes_.push_back(code);
    };
    api_.clock_ns = [](tenon_host*) { return uint64_t{1}; };
    api_.intern = [](tenon_host*, tenon_str) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));  // a record that takes its time
      return uint64_t{1};
    };
  }
  sdk::Host host() const { return sdk::Host(&api_); }
  Recorder recorder() { return {profiler_, host(), 0, 1}; }
  NpuProfiler& profiler() { return profiler_; }
  const std::vector<int32_t>& codes() const { return codes_; }

 private:
  tenon_host_api api_{};
  NpuProfiler profiler_;
  std::vector<int32_t> codes_;  // written by one worker, read when it has ended
};

Command Do(std::function<void(uint64_t&)> run, Command::Kind kind = Command::Kind::kWork) {
  Command command;
  command.kind = kind;
  command.run = std::move(run);
  return command;
}

TEST(Queue, RunsInOrderAndStopsAtTheFirstFailure) {
  Host host;
  std::vector<int> order;
  {
    Queue queue(host.host(), std::make_shared<Health>(Faults{}), host.recorder());
    queue.Push(Do([&](uint64_t& cycles) { order.push_back(1), cycles += 10; }));
    const auto before = queue.Signal();
    queue.Push(Do([&](uint64_t&) { throw sdk::Failure(TENON_OUT_OF_RANGE, "Index ", 7, " is wrong."); }));
    queue.Push(Do([&](uint64_t&) { order.push_back(2); }));
    queue.Push(Do([&](uint64_t&) { order.push_back(3); }, Command::Kind::kAlways));
    Command notify;
    notify.kind = Command::Kind::kNotify;
    queue.Push(std::move(notify));
    const auto after = queue.Signal();
    ASSERT_TRUE(after->Wait(UINT64_MAX));
    EXPECT_TRUE(before->outcome().ok());
    EXPECT_EQ(before->cycles(), 10u);
    EXPECT_EQ(after->outcome().code, TENON_OUT_OF_RANGE);
    EXPECT_EQ(after->outcome().text, "Index 7 is wrong.");
    EXPECT_EQ(queue.failure().code, TENON_OUT_OF_RANGE);
  }
  EXPECT_EQ(order, (std::vector<int>{1, 3}));
  EXPECT_EQ(host.codes(), std::vector<int32_t>{TENON_OUT_OF_RANGE});
}

TEST(Queue, WaitsMoveTheClockAndCarryFailures) {
  Host host;
  const auto health = std::make_shared<Health>(Faults{});
  Queue first(host.host(), health, host.recorder()), second(host.host(), health, host.recorder());
  first.Push(Do([](uint64_t& cycles) { cycles += 1000; }));
  Command wait;
  wait.kind = Command::Kind::kWait;
  wait.ticket = first.Signal();
  second.Push(wait);
  const auto reached = second.Signal();
  ASSERT_TRUE(reached->Wait(UINT64_MAX));
  EXPECT_EQ(reached->cycles(), 1000u);
  first.Push(Do([](uint64_t&) { throw sdk::Failure(TENON_INTERNAL, "broken"); }));
  wait.ticket = first.Signal();
  second.Push(wait);
  const auto failed = second.Signal();
  ASSERT_TRUE(failed->Wait(UINT64_MAX));
  EXPECT_EQ(failed->outcome().code, TENON_INTERNAL);
}

// What is profiled is in the profile of who has waited for it.
TEST(Queue, RecordsWorkBeforeItsTicketIsReached) {
  Host host;
  static char buffer[4096];
  uint64_t used = 0;
  tenon_profiler_config config = TENON_INIT(tenon_profiler_config);
  config.mask = ~uint64_t{0};
  config.user = &used;
  config.buffer_request = [](void*, uint64_t* bytes) -> void* {
    *bytes = sizeof buffer;
    return buffer;
  };
  config.buffer_return = [](void* user, void*, uint64_t bytes, uint64_t) { *static_cast<uint64_t*>(user) += bytes; };
  sdk::Error error(nullptr, nullptr);
  ASSERT_EQ(static_cast<sdk::Profiler&>(host.profiler()).Start(config, error), TENON_OK);
  Queue queue(host.host(), std::make_shared<Health>(Faults{}), host.recorder());
  Command move = Do([](uint64_t& cycles) { cycles += 10; }, Command::Kind::kAlways);
  move.recorded = {TENON_RECORD_COPY, 10, 64};
  move.ticket = std::make_shared<Ticket>();
  const std::shared_ptr<Ticket> moved = move.ticket;
  queue.Push(std::move(move));
  ASSERT_TRUE(moved->Wait(UINT64_MAX));
  host.profiler().Stop();
  EXPECT_EQ(moved->cycles(), 10u);
  EXPECT_EQ(used, sizeof(tenon_record));
}

TEST(Queue, ALostDeviceFailsEveryQueue) {
  Host host;
  Faults faults;
  faults.lost_at_call = 2;
  const auto health = std::make_shared<Health>(faults);
  std::atomic<int> ran{0};
  Queue first(host.host(), health, host.recorder()), second(host.host(), health, host.recorder());
  for (int i = 0; i < 3; ++i) first.Push(Do([&](uint64_t&) { ++ran; }));
  const auto lost = first.Signal();
  ASSERT_TRUE(lost->Wait(UINT64_MAX));
  EXPECT_EQ(ran, 1);
  EXPECT_EQ(lost->outcome().code, TENON_DEVICE_LOST);
  const auto also = second.Signal();
  ASSERT_TRUE(also->Wait(UINT64_MAX));
  EXPECT_EQ(also->outcome().code, TENON_DEVICE_LOST);
}

TEST(Cost, TheSlowestUnitCounts) {
  EXPECT_EQ(Cost{}.Cycles(), 500u);
  EXPECT_EQ((Cost{4096 * 100, 64 * 7, 256 * 99}).Cycles(), 600u);
  EXPECT_EQ((Cost{1, 65, 1}).Cycles(), 502u);
  EXPECT_EQ((Cost{0, 0, 256 * 99 + 1, 11}).Cycles(), 611u);
  EXPECT_EQ(TransferCycles(1600), 2100u);
}

TEST(Tiling, PlacesEveryElementOnce) {
  const Tiling tiling{3, 33, 18};
  EXPECT_EQ(tiling.matrix(), 48 * 32);
  EXPECT_EQ(tiling.elements(), 3 * 48 * 32);
  std::vector<int> seen(static_cast<size_t>(tiling.matrix()));
  for (int64_t row = 0; row < 33; ++row)
    for (int64_t column = 0; column < 18; ++column) ++seen[static_cast<size_t>(tiling.At(row, column))];
  int64_t used = 0;
  for (const int count : seen) {
    EXPECT_LE(count, 1);
    used += count;
  }
  EXPECT_EQ(used, 33 * 18);
}

TEST(Number, EveryF16IsKept) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const F16 value{static_cast<uint16_t>(bits)};
    const float wide = Widen(value);
    if (std::isnan(wide)) {
      EXPECT_TRUE(std::isnan(Widen(Narrow<F16>(wide))));
      continue;
    }
    EXPECT_EQ(Narrow<F16>(wide).bits, bits);
  }
  EXPECT_EQ(Widen(F16{0x3c01}), 1.0f + 1.0f / 1024);
  EXPECT_EQ(Widen(F16{0x0001}), 0x1p-24f);
}

TEST(Number, NarrowingRoundsToTheNearestAndTiesToEven) {
  EXPECT_EQ(Narrow<F16>(1.0f + 0.5f / 1024).bits, 0x3c00);  // a tie, to the even one below
  EXPECT_EQ(Narrow<F16>(1.0f + 1.5f / 1024).bits, 0x3c02);  // and above
  EXPECT_EQ(Narrow<F16>(65504.0f).bits, 0x7bff);
  EXPECT_EQ(Narrow<F16>(65519.99f).bits, 0x7bff);
  EXPECT_EQ(Narrow<F16>(65520.0f).bits, 0x7c00);
  EXPECT_EQ(Narrow<F16>(0x1p-25f).bits, 0);  // half of the least number, to even
  EXPECT_EQ(Narrow<F16>(-0x1.8p-25f).bits, 0x8001);
  EXPECT_EQ(Narrow<Bf16>(1.0f + 1.0f / 256).bits, 0x3f80);
  EXPECT_EQ(Narrow<Bf16>(1.0f + 3.0f / 256).bits, 0x3f82);
  EXPECT_EQ(Narrow<Bf16>(std::numeric_limits<float>::max()).bits, 0x7f80);
  EXPECT_TRUE(std::isnan(Widen(Narrow<Bf16>(std::numeric_limits<float>::quiet_NaN()))));
}

}  // namespace
}  // namespace tenon::npu
