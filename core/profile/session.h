#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/exec/runtime.h"
#include "core/profile/plugin_profiler.h"
#include "core/profile/timeline.h"

namespace tenon::profile {

// Records what host and plugins do from its start to Stop. A plugin whose profiler fails is left out from then on, with one
// warning; nothing here fails a run. Main thread. Must end before the runtime does.
class Session {
 public:
  // Half of the memory is for the host, half for the plugins.
  Session(exec::Runtime& runtime, std::int64_t limit_bytes);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  ActivityLog& log() { return log_; }
  // Between steps: reads the clocks again when that is due, as clocks drift.
  void Calibrate();
  // Ends the recording; later calls do nothing.
  void Stop();

  // After Stop.
  Timeline MakeTimeline() const;
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  void Warn(const Plugin& plugin, const Status& status);
  std::vector<std::string> DevicesOf(const Plugin& plugin) const;

  exec::Runtime& runtime_;
  ActivityLog log_;
  struct Source {
    std::unique_ptr<PluginProfiler> profiler;
    std::vector<std::string> devices;
    bool failed = false;
  };
  std::vector<Source> sources_;
  std::vector<std::string> warnings_;
  std::int64_t begin_ns_ = 0, end_ns_ = 0, calibrated_ns_ = 0;
};

}  // namespace tenon::profile
