#include "core/profile/session.h"

#include <fmt/format.h>

#include "core/platform/process.h"

namespace tenon::profile {
namespace {

constexpr std::int64_t kCalibrateEveryNs = 50'000'000;

}  // namespace

Session::Session(exec::Runtime& runtime, std::int64_t limit_bytes) : runtime_(runtime), log_(limit_bytes / 2) {
  const std::vector<Plugin*> plugins = runtime.registry().PluginsWith<tenon_profiler_vtable>();
  for (Plugin* plugin : plugins) {
    auto started = PluginProfiler::Start(*plugin, limit_bytes / 2 / static_cast<std::int64_t>(plugins.size()));
    if (started.ok()) {
      sources_.push_back({std::move(started).value(), DevicesOf(*plugin)});
    } else {
      Warn(*plugin, started.status());
    }
  }
  begin_ns_ = calibrated_ns_ = MonotonicRawNs();
  runtime_.device().set_activity(&log_);
}

Session::~Session() { Stop(); }

std::vector<std::string> Session::DevicesOf(const Plugin& plugin) const {
  std::vector<std::string> names;
  for (const PluginDevice* device : runtime_.registry().devices()) {
    if (device->plugin != &plugin) continue;
    if (names.size() <= device->index) names.resize(device->index + 1);
    names[device->index] = device->text();
  }
  return names;
}

void Session::Warn(const Plugin& plugin, const Status& status) {
  warnings_.push_back(fmt::format("Plugin {} is not profiled any further: {}", plugin.id(), status.ToString()));
}

void Session::Calibrate() {
  const std::int64_t now = MonotonicRawNs();
  if (now - calibrated_ns_ < kCalibrateEveryNs) return;
  calibrated_ns_ = now;
  for (Source& source : sources_) {
    if (source.failed) continue;
    Status status = source.profiler->Calibrate();
    if (status.ok()) continue;
    Warn(source.profiler->plugin(), status);
    source.failed = true;
    (void)source.profiler->Stop();
  }
}

void Session::Stop() {
  if (end_ns_ != 0) return;
  end_ns_ = MonotonicRawNs();
  runtime_.device().set_activity(nullptr);
  for (Source& source : sources_) {
    if (source.failed) continue;
    Status status = source.profiler->Stop();
    if (!status.ok()) Warn(source.profiler->plugin(), status);
  }
}

Timeline Session::MakeTimeline() const {
  std::vector<PluginRecords> plugins;
  std::int64_t dropped = 0, malformed = 0;
  for (const Source& source : sources_) {
    PluginRecords& records = plugins.emplace_back();
    records.plugin_id = source.profiler->plugin().id();
    records.devices = source.devices;
    records.clocks = source.profiler->clocks();
    source.profiler->buffers().ForEach([&records](const tenon_record& record, std::int64_t returned_ns) {
      records.items.push_back({record, returned_ns});
    });
    dropped += source.profiler->buffers().dropped();
    malformed += source.profiler->buffers().malformed() + source.profiler->buffers().missing();
  }
  Timeline timeline = Merge(log_, plugins, begin_ns_, end_ns_);
  timeline.dropped += dropped;
  timeline.malformed = malformed;
  return timeline;
}

}  // namespace tenon::profile
