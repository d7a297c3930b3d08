// What the queues of a device tell a profiler, in simulated cycles. The device's counter starts with the plugin and ticks
// once a nanosecond; a command begins when its worker takes it up, but not before the one in front has ended in simulated
// time, and takes the cycles of the cost model.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "tenon/sdk/profiler.h"

namespace tenon::npu {

class NpuProfiler final : public sdk::Profiler {
 public:
  NpuProfiler() : Profiler(/*inline_calls=*/false) {}

  void Start(sdk::Host host) { started_ns_ = host.ClockNs(); }
  uint64_t CyclesNow(sdk::Host host) const { return host.ClockNs() - started_ns_; }

  void DescribeClock(uint32_t, tenon_clock_info& out) const override {
    out.name = sdk::Str("npu cycles");
    out.ns_per_tick = 1.0;
  }
  int32_t ReadClock(sdk::Host host, uint32_t, uint64_t& ticks, sdk::Error&) override {
    ticks = CyclesNow(host);
    return TENON_OK;
  }

 private:
  uint64_t started_ns_ = 0;
};

// What a command is in a profile; kind 0: nothing.
struct Recorded {
  uint32_t kind = 0;  // tenon_record_kind
  uint64_t cycles = 0, bytes = 0;
};

// Of one queue; used by its worker alone.
class Recorder {
 public:
  Recorder(NpuProfiler& profiler, sdk::Host host, uint32_t device, uint32_t stream)
      : profiler_(profiler), host_(host), device_(device), stream_(stream) {}

  // When what is done next starts.
  uint64_t Begin() const { return std::max(profiler_.CyclesNow(host_), end_); }
  void Write(const Recorded& what, std::string_view name, uint64_t correlation_id, uint64_t begin, bool failed) {
    end_ = begin + what.cycles;
    if (!profiler_.Wants(what.kind)) return;
    tenon_record record = sdk::Profiler::Record(what.kind, correlation_id);
    record.header.device = device_;
    record.header.stream = stream_;
    record.header.start = begin;
    record.header.end = end_;
    if (failed) record.header.flags |= TENON_RECORD_FAILED;
    record.name = host_.Intern(name);
    record.bytes = what.bytes;
    profiler_.Write(record);
  }

 private:
  NpuProfiler& profiler_;
  sdk::Host host_;
  const uint32_t device_, stream_;
  uint64_t end_ = 0;
};

}  // namespace tenon::npu
