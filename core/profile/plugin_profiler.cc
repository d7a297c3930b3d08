#include "core/profile/plugin_profiler.h"

#include "core/plugin/abi_trace.h"
#include "core/plugin/error_sink.h"

namespace tenon::profile {
namespace {

constexpr const char* kInterface = "tenon.profiler";
constexpr std::uint32_t kMostClocks = 1024;  // a number beyond it is a mistake of the plugin

}  // namespace

Result<std::unique_ptr<PluginProfiler>> PluginProfiler::Start(Plugin& plugin, std::int64_t limit_bytes) {
  std::unique_ptr<PluginProfiler> profiler(new PluginProfiler(plugin, limit_bytes));
  TENON_TRY_WHILE(profiler->ReadClocks(), "reading the clocks of plugin {}", plugin.id());
  tenon_profiler_config config = TENON_INIT(tenon_profiler_config);
  config.mask = ~std::uint64_t{0};
  config.user = profiler->buffers_.get();
  config.buffer_request = &RecordBuffers::Request;
  config.buffer_return = &RecordBuffers::Return;
  config.buffer_bytes = RecordBuffers::kBufferBytes;
  tenon_error error;
  const std::int32_t code =
      CallAbi(kInterface, "start", profiler->table_.start, plugin.instance(), &config, &profiler->session_, &error);
  TENON_TRY(plugin.ToStatus(code, error));
  return profiler;
}

PluginProfiler::~PluginProfiler() { (void)Stop(); }

Status PluginProfiler::ReadClocks() {
  tenon_error error;
  std::uint32_t count = 0;
  TENON_TRY(plugin_.ToStatus(CallAbi(kInterface, "clock_count", table_.clock_count, plugin_.instance(), &count, &error),
                             error));
  TENON_INVALID_IF(count > kMostClocks, "The plugin states {} clocks; at most {} make sense.", count, kMostClocks);
  for (std::uint32_t i = 0; i < count; ++i) {
    tenon_clock_info info = TENON_INIT(tenon_clock_info);
    TENON_TRY(plugin_.ToStatus(
        CallAbi(kInterface, "clock_info", table_.clock_info, plugin_.instance(), i, &info, &error), error));
    clocks_.emplace_back(std::string(View(info.name)), info.ns_per_tick, info.bits);
  }
  return Calibrate();
}

Status PluginProfiler::Calibrate() {
  for (std::uint32_t i = 0; i < clocks_.size(); ++i) {
    tenon_error error;
    tenon_clock_pair pair = TENON_INIT(tenon_clock_pair);
    TENON_TRY(plugin_.ToStatus(
        CallAbi(kInterface, "clock_pair", table_.clock_pair, plugin_.instance(), i, &pair, &error), error));
    clocks_[i].AddPair(pair.domain_ticks, static_cast<std::int64_t>(pair.host_ns), pair.uncertainty_ns);
  }
  return {};
}

Status PluginProfiler::Stop() {
  if (session_ == nullptr) return {};
  Status calibrated = Calibrate();
  Status stopped = CallStop();
  return stopped.ok() ? calibrated : stopped;
}

Status PluginProfiler::CallStop() {
  tenon_error error;
  tenon_profiler_session* session = std::exchange(session_, nullptr);
  return plugin_.ToStatus(CallAbi(kInterface, "stop", table_.stop, session, &error), error);
}

}  // namespace tenon::profile
