#pragma once

#include <string>

#include "core/base/status.h"
#include "core/profile/timeline.h"

namespace tenon::profile {

// What stands in the trace beside its events.
struct TraceFacts {
  std::string name;  // of the run
  std::string tenon_version;
  std::string device;
};

// Writes the timeline in the JSON form of the Trace Event Format, which Perfetto and chrome://tracing open: a row per
// track with its spans (ph X), calls into a plugin tied to their records by flows (ph s and f), counters (ph C), markers
// and allocations (ph i). Times are microseconds from the start, exact to the nanosecond. The file appears complete or
// not at all; errors as of AtomicFile.
Status WriteChromeTrace(const Timeline& timeline, const TraceFacts& facts, const std::string& path);

}  // namespace tenon::profile
