#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/plugin/plugin.h"
#include "core/profile/clock_domain.h"
#include "core/profile/record_buffers.h"

namespace tenon::profile {

// A profiler session of one plugin: its clocks, and the records it writes. Main thread.
class PluginProfiler {
 public:
  // Reads the clocks and starts recording.
  static Result<std::unique_ptr<PluginProfiler>> Start(Plugin& plugin, std::int64_t limit_bytes);
  ~PluginProfiler();
  PluginProfiler(const PluginProfiler&) = delete;
  PluginProfiler& operator=(const PluginProfiler&) = delete;

  // One more pair of each clock.
  Status Calibrate();
  // Ends the session: no record comes after it. Later calls do nothing.
  Status Stop();

  const Plugin& plugin() const { return plugin_; }
  const std::vector<ClockDomain>& clocks() const { return clocks_; }
  const RecordBuffers& buffers() const { return *buffers_; }

 private:
  PluginProfiler(Plugin& plugin, std::int64_t limit_bytes)
      : plugin_(plugin),
        table_(*plugin.Interface<tenon_profiler_vtable>()),
        buffers_(std::make_unique<RecordBuffers>(limit_bytes)) {}
  Status ReadClocks();
  Status CallStop();

  Plugin& plugin_;
  const tenon_profiler_vtable& table_;
  tenon_profiler_session* session_ = nullptr;
  std::vector<ClockDomain> clocks_;
  std::unique_ptr<RecordBuffers> buffers_;
};

}  // namespace tenon::profile
