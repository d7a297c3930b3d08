#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/device/activity.h"
#include "core/profile/clock_domain.h"
#include "tenon/abi/profiler.h"

namespace tenon::profile {

// A row of the trace: what happens on it nests or does not touch.
struct Track {
  std::string process;  // "host", "cpu:0 (org.tenon.device_cpu)"
  std::string name;     // "main thread", "stream 1"
  int pid = 0, tid = 0;
};

// A span on a track, or with start == end of the kinds ALLOCATION, COUNTER and MARKER a point in time.
struct Event {
  static constexpr std::uint32_t kNoInfo = UINT32_MAX;
  std::int64_t start_ns = 0, end_ns = 0;  // from the start of the timeline
  std::uint32_t track = 0;
  std::uint16_t record_kind = 0;  // tenon_record_kind; 0: an activity of the host
  std::uint16_t flags = 0;        // tenon_record_flag
  std::uint32_t info = kNoInfo;   // number in Timeline::infos, of a record: of the activity that made the call
  std::uint32_t owner = kNoInfo;  // of a record: index in Timeline::events of that activity
  std::uint64_t name = 0;         // interned text of a record
  std::uint64_t correlation = 0;
  std::int64_t step = 0;
  std::int64_t bytes = 0;
  double value = 0;  // counters
};

// Records of one plugin, to be merged.
struct PluginRecords {
  std::string plugin_id;
  std::vector<std::string> devices;  // "cpu:0" by index of the plugin
  std::span<const ClockDomain> clocks;
  struct Item {
    tenon_record record;
    std::int64_t returned_ns;  // when its buffer came back
  };
  std::vector<Item> items;
};

// Everything of a profiled run in the host's time, ordered by track, start, and outer before inner.
struct Timeline {
  std::int64_t origin_ns = 0;  // MonotonicRawNs of the start
  std::int64_t length_ns = 0;
  std::vector<ActivityInfo> infos;
  std::vector<Track> tracks;  // the first is the host's main thread
  std::vector<Event> events;
  std::int64_t dropped = 0;    // records and activities for which there was no room
  std::int64_t unclocked = 0;  // records whose clock domain or times make no sense; left out
  std::int64_t malformed = 0;  // buffers that held something else than records or were not given back
};

// `begin_ns` and `end_ns`: what was profiled; activities and records outside of it are cut or left out.
Timeline Merge(const ActivityLog& log, const std::vector<PluginRecords>& plugins, std::int64_t begin_ns,
               std::int64_t end_ns);

}  // namespace tenon::profile
