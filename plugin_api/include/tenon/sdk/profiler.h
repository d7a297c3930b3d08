// tenon.profiler as a class: records go from any thread into buffers of the host.
//
//   if (profiler.Wants(TENON_RECORD_KERNEL)) {
//     tenon_record record = profiler.Record(TENON_RECORD_KERNEL, correlation_id);
//     record.header.start = ...
//     profiler.Write(record);
//   }
//
// A plugin whose work is finished when a call returns gets the records of kernels and copies from the helpers (kernel.h,
// host_device.h); one with queues of its own writes them when the work is done.
#pragma once

#include <atomic>
#include <thread>

#include "tenon/abi/profiler.h"
#include "tenon/sdk/plugin.h"

namespace tenon::sdk {

// One session at a time. Write and Wants may be called from any thread, also while a session starts or ends.
class Profiler {
 public:
  // `inline_calls`: execute and copy return when their work is done, and the helpers of the sdk time them.
  explicit Profiler(bool inline_calls) : inline_calls_(inline_calls) {}
  virtual ~Profiler() = default;
  Profiler(const Profiler&) = delete;
  Profiler& operator=(const Profiler&) = delete;

  // ---- clocks; the default is one domain, the host's clock ----
  virtual uint32_t ClockCount() const { return 1; }
  // The name must be static. Only called with index < ClockCount().
  virtual void DescribeClock(uint32_t index, tenon_clock_info& out) const {
    (void)index;
    out.name = Str("host");
    out.ns_per_tick = 1.0;
  }
  // Ticks of the domain now.
  virtual int32_t ReadClock(Host host, uint32_t index, uint64_t& ticks, Error& error) {
    (void)index, (void)error;
    ticks = host.ClockNs();
    return TENON_OK;
  }

  // ---- records ----
  // Is a record of this kind wanted now? One load and one branch.
  bool Wants(uint32_t kind) const { return ((mask_.load(std::memory_order_relaxed) >> kind) & 1) != 0; }
  bool inline_calls() const { return inline_calls_; }

  // A record with everything zero but what is told; the device is that of index 0.
  static tenon_record Record(uint32_t kind, uint64_t correlation_id) {
    tenon_record record{};
    record.header.kind = static_cast<uint16_t>(kind);
    record.header.size = sizeof(tenon_record);
    record.header.correlation_id = correlation_id;
    return record;
  }
  // Copies the record into a buffer of the host, or counts it as dropped. Waits for nothing: a lane that another thread
  // uses is passed over.
  void Write(const tenon_record& record) {
    const uint32_t first = LaneOfThread();
    for (uint32_t i = 0; i < kLanes; ++i) {
      Lane& lane = lanes_[(first + i) % kLanes];
      if (!lane.TryClaim()) continue;
      // Asked again: stop clears the mask before it claims the lanes, start sets it when the session is ready.
      if (((mask_.load(std::memory_order_acquire) >> record.header.kind) & 1) != 0) Put(lane, record);
      lane.Release();
      return;
    }
    overflow_.fetch_add(1, std::memory_order_relaxed);
  }

  // ---- slots ----
  int32_t Start(const tenon_profiler_config& config, Error& error) {
    if (config.buffer_request == nullptr || config.buffer_return == nullptr)
      return error.Fail(TENON_INVALID_ARGUMENT, "A profiler session needs buffer_request and buffer_return.");
    if (started_.exchange(true)) return error.Fail(TENON_ALREADY_EXISTS, "A profiler session is running already.");
    config_ = config;
    overflow_.store(0, std::memory_order_relaxed);
    mask_.store(config.mask, std::memory_order_release);
    return TENON_OK;
  }
  // No record is written once it returns.
  void Stop() {
    mask_.store(0, std::memory_order_release);
    Flush();
    const uint64_t dropped = overflow_.exchange(0, std::memory_order_relaxed);
    if (dropped > 0) config_.buffer_return(config_.user, nullptr, 0, dropped);
    started_.store(false);
  }
  // Returns the buffers of all lanes.
  void Flush() {
    for (Lane& lane : lanes_) {
      while (!lane.TryClaim()) std::this_thread::yield();
      Return(lane);
      lane.Release();
    }
  }
  void SetMask(uint64_t mask) { mask_.store(mask, std::memory_order_release); }

  // The tightest of a few readings: host time before and after, ticks between.
  int32_t Calibrate(Host host, uint32_t index, tenon_clock_pair& out, Error& error) {
    uint64_t best = UINT64_MAX;
    for (int reading = 0; reading < 3; ++reading) {
      uint64_t ticks = 0;
      const uint64_t before = host.ClockNs();
      const int32_t code = ReadClock(host, index, ticks, error);
      if (code != TENON_OK) return code;
      const uint64_t width = host.ClockNs() - before;
      if (width >= best) continue;
      best = width;
      out.domain_ticks = ticks;
      out.host_ns = before + width / 2;
    }
    out.uncertainty_ns = best / 2;  // last member
    return TENON_OK;
  }

  tenon_profiler_session* handle() { return reinterpret_cast<tenon_profiler_session*>(this); }
  static Profiler* From(tenon_profiler_session* handle) { return reinterpret_cast<Profiler*>(handle); }

 private:
  // A buffer of the host that one thread at a time writes into.
  struct alignas(64) Lane {
    std::atomic<bool> claimed{false};
    char* buffer = nullptr;
    uint64_t used = 0, capacity = 0, dropped = 0;

    bool TryClaim() {
      return !claimed.load(std::memory_order_relaxed) && !claimed.exchange(true, std::memory_order_acquire);
    }
    void Release() { claimed.store(false, std::memory_order_release); }
  };
  static constexpr uint32_t kLanes = 32;

  static uint32_t LaneOfThread() {
    static std::atomic<uint32_t> next{0};
    thread_local const uint32_t number = next.fetch_add(1, std::memory_order_relaxed);
    return number % kLanes;
  }

  void Put(Lane& lane, const tenon_record& record) {
    const uint64_t size = record.header.size;
    if (lane.capacity - lane.used < size) {
      Return(lane);
      uint64_t bytes = 0;
      lane.buffer = static_cast<char*>(config_.buffer_request(config_.user, &bytes));
      lane.capacity = lane.buffer == nullptr ? 0 : bytes;
    }
    if (lane.capacity - lane.used < size) {
      ++lane.dropped;
      return;
    }
    std::memcpy(lane.buffer + lane.used, &record, size);
    lane.used += size;
  }
  // Gives the lane's buffer and its count of dropped records to the host.
  void Return(Lane& lane) {
    if (lane.buffer == nullptr && lane.dropped == 0) return;
    config_.buffer_return(config_.user, lane.buffer, lane.used, lane.dropped);
    lane.buffer = nullptr;
    lane.used = lane.capacity = lane.dropped = 0;
  }

  const bool inline_calls_;
  std::atomic<uint64_t> mask_{0};  // 0 while there is no session
  std::atomic<bool> started_{false};
  std::atomic<uint64_t> overflow_{0};  // records that found no free lane
  tenon_profiler_config config_{};
  Lane lanes_[kLanes];
};

// The time from here to the end of the block as one record, when the plugin's helpers record what it does inline.
class InlineRecord {
 public:
  InlineRecord(Plugin& plugin, uint32_t kind, uint64_t correlation_id) : profiler_(plugin.profiler()) {
    if (profiler_ == nullptr || !profiler_->inline_calls() || !profiler_->Wants(kind)) {
      profiler_ = nullptr;
      return;
    }
    host_ = plugin.host();
    record_ = Profiler::Record(kind, correlation_id);
    record_.header.stream = 1;
    record_.header.start = host_.ClockNs();
  }
  ~InlineRecord() {
    if (profiler_ == nullptr) return;
    record_.header.end = host_.ClockNs();
    profiler_->Write(record_);
  }
  InlineRecord(const InlineRecord&) = delete;
  InlineRecord& operator=(const InlineRecord&) = delete;

  explicit operator bool() const { return profiler_ != nullptr; }
  tenon_record* operator->() { return &record_; }
  const Host& host() const { return host_; }

 private:
  Profiler* profiler_;
  Host host_;
  tenon_record record_;
};

namespace slots {

// body(profiler, error) with the plugin's profiler.
template <typename Body>
int32_t OnProfiler(tenon_plugin* plugin, tenon_error* sink, Body&& body) noexcept {
  return Guard(Plugin::HostOf(plugin), sink, [&](Error& error) -> int32_t {
    Profiler* profiler = Plugin::From(plugin)->profiler();
    if (profiler == nullptr) return error.Fail(TENON_UNAVAILABLE, "This instance has no profiler.");
    return body(*profiler, error);
  });
}
inline int32_t NoClock(uint32_t index, const Profiler& profiler, Error& error) {
  return error.Fail(TENON_OUT_OF_RANGE, "There is no clock domain ", index, "; there are ", profiler.ClockCount(), ".");
}
inline int32_t ClockCount(tenon_plugin* plugin, uint32_t* out, tenon_error* sink) noexcept {
  return OnProfiler(plugin, sink, [&](Profiler& profiler, Error&) -> int32_t {
    *out = profiler.ClockCount();
    return TENON_OK;
  });
}
inline int32_t ClockInfo(tenon_plugin* plugin, uint32_t index, tenon_clock_info* out, tenon_error* sink) noexcept {
  return OnProfiler(plugin, sink, [&](Profiler& profiler, Error& error) -> int32_t {
    if (index >= profiler.ClockCount()) return NoClock(index, profiler, error);
    tenon_clock_info info = TENON_INIT(tenon_clock_info);
    profiler.DescribeClock(index, info);
    CopyOut(info, out);
    return TENON_OK;
  });
}
inline int32_t ClockPair(tenon_plugin* plugin, uint32_t index, tenon_clock_pair* out, tenon_error* sink) noexcept {
  return OnProfiler(plugin, sink, [&](Profiler& profiler, Error& error) -> int32_t {
    if (index >= profiler.ClockCount()) return NoClock(index, profiler, error);
    tenon_clock_pair pair = TENON_INIT(tenon_clock_pair);
    const int32_t code = profiler.Calibrate(Plugin::From(plugin)->host(), index, pair, error);
    if (code == TENON_OK) CopyOut(pair, out);
    return code;
  });
}
inline int32_t StartSession(tenon_plugin* plugin, const tenon_profiler_config* config, tenon_profiler_session** out,
                            tenon_error* sink) noexcept {
  *out = nullptr;
  return OnProfiler(plugin, sink, [&](Profiler& profiler, Error& error) -> int32_t {
    const int32_t code = profiler.Start(*config, error);
    if (code == TENON_OK) *out = profiler.handle();
    return code;
  });
}
inline int32_t StopSession(tenon_profiler_session* session, tenon_error* sink) noexcept {
  return Guard(nullptr, sink, [&](Error&) -> int32_t {
    Profiler::From(session)->Stop();
    return TENON_OK;
  });
}
inline int32_t FlushSession(tenon_profiler_session* session, tenon_error* sink) noexcept {
  return Guard(nullptr, sink, [&](Error&) -> int32_t {
    Profiler::From(session)->Flush();
    return TENON_OK;
  });
}
inline int32_t SetSessionMask(tenon_profiler_session* session, uint64_t mask, tenon_error* sink) noexcept {
  return Guard(nullptr, sink, [&](Error&) -> int32_t {
    Profiler::From(session)->SetMask(mask);
    return TENON_OK;
  });
}

}  // namespace slots

namespace detail {
constexpr tenon_profiler_vtable MakeProfilerVtable() {
  tenon_profiler_vtable table = TENON_INIT(tenon_profiler_vtable);
  table.clock_count = &slots::ClockCount;
  table.clock_info = &slots::ClockInfo;
  table.clock_pair = &slots::ClockPair;
  table.start = &slots::StartSession;
  table.stop = &slots::StopSession;
  table.flush = &slots::FlushSession;
  table.set_mask = &slots::SetSessionMask;  // last member
  return table;
}
inline constexpr tenon_profiler_vtable kProfilerVtable = MakeProfilerVtable();
}  // namespace detail

// For plugins whose class overrides Plugin::profiler().
constexpr tenon_interface ProfilerInterface() { return Interface(TENON_INTERFACE_PROFILER, &detail::kProfilerVtable); }

}  // namespace tenon::sdk
