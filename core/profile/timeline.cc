#include "core/profile/timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

namespace tenon::profile {
namespace {

// Kinds that are a moment, not a span.
bool IsPoint(std::uint16_t kind) {
  return kind == TENON_RECORD_ALLOCATION || kind == TENON_RECORD_COUNTER || kind == TENON_RECORD_MARKER;
}

class Merger {
 public:
  Merger(const ActivityLog& log, std::int64_t begin_ns, std::int64_t end_ns) : log_(log) {
    timeline_.origin_ns = begin_ns;
    timeline_.length_ns = end_ns - begin_ns;
    timeline_.dropped = log.dropped();
  }

  Timeline Run(const std::vector<PluginRecords>& plugins) {
    timeline_.tracks.push_back({"host", "main thread", 1, 1});
    AddActivities();
    int pid = 1;
    for (const PluginRecords& plugin : plugins) AddPlugin(plugin, pid);
    SortEvents();
    SeparateTracks();
    LinkOwners();
    return std::move(timeline_);
  }

 private:
  std::int64_t Relative(std::int64_t host_ns) const { return host_ns - timeline_.origin_ns; }
  std::int64_t Clamp(std::int64_t ns) const { return std::clamp<std::int64_t>(ns, 0, timeline_.length_ns); }

  void AddActivities() {
    const std::vector<Activity> activities = log_.Activities();
    for (std::uint32_t id = 0; id < log_.info_count(); ++id) timeline_.infos.push_back(log_.info(id));
    timeline_.events.reserve(activities.size() * 2);
    for (const Activity& activity : activities) {
      const ActivityInfo& info = log_.info(activity.info);
      Event event;
      event.start_ns = Clamp(Relative(activity.start_ns));
      event.end_ns = Clamp(Relative(activity.end_ns));
      event.info = activity.info;
      event.correlation = activity.correlation;
      event.step = activity.step;
      event.bytes = IsNode(info.kind) ? info.bytes : activity.bytes;
      if (activity.correlation != 0) {
        if (by_correlation_.size() <= activity.correlation) by_correlation_.resize(activity.correlation + 1, -1);
        by_correlation_[activity.correlation] = static_cast<std::int64_t>(timeline_.events.size());
      }
      timeline_.events.push_back(event);
      NotePhase(event, info.kind);
    }
    EndPhase();
  }

  // Nodes of one phase that follow each other within a step become a span around them.
  void NotePhase(const Event& event, ActivityKind kind) {
    if (kind == ActivityKind::kDeviceWait || kind == ActivityKind::kCompile || IsCopy(kind)) return;
    const std::uint32_t phase = PhaseOf(kind);
    if (phase != phase_.info || event.step != phase_.step) EndPhase();
    if (phase == Event::kNoInfo) return;
    if (phase_.info == Event::kNoInfo) phase_ = Event{.start_ns = event.start_ns, .info = phase, .step = event.step};
    phase_.end_ns = event.end_ns;
  }
  void EndPhase() {
    if (phase_.info != Event::kNoInfo) timeline_.events.push_back(phase_);
    phase_ = {};
  }
  static bool IsCopy(ActivityKind kind) {
    return kind == ActivityKind::kCopyToDevice || kind == ActivityKind::kCopyToHost ||
           kind == ActivityKind::kCopyOnDevice;
  }
  static std::uint32_t PhaseOf(ActivityKind kind) {
    if (kind == ActivityKind::kForward) return ActivityLog::IdOf(ActivityKind::kForwardPass);
    if (kind == ActivityKind::kBackward) return ActivityLog::IdOf(ActivityKind::kBackwardPass);
    if (kind == ActivityKind::kUpdate) return ActivityLog::IdOf(ActivityKind::kUpdatePass);
    return Event::kNoInfo;
  }

  // Device 0 of the first plugin is process 2, and so on.
  std::uint32_t TrackOf(const PluginRecords& plugin, const tenon_record_header& header, int& pid) {
    const auto key = std::make_tuple(plugin.plugin_id, header.device, header.stream);
    const auto found = tracks_.find(key);
    if (found != tracks_.end()) return found->second;
    const auto [process, added] = processes_.try_emplace({plugin.plugin_id, header.device}, pid + 1);
    if (added) ++pid;
    std::string device = "host";
    if (header.device != UINT32_MAX)
      device = header.device < plugin.devices.size() ? plugin.devices[header.device]
                                                     : fmt::format("device {}", header.device);
    const auto id = static_cast<std::uint32_t>(timeline_.tracks.size());
    const std::string name = header.stream == 0 ? "no stream" : fmt::format("stream {}", header.stream);
    timeline_.tracks.push_back(
        {fmt::format("{} ({})", device, plugin.plugin_id), name, process->second, static_cast<int>(id) + 1});
    tracks_.emplace(key, id);
    return id;
  }

  void AddPlugin(const PluginRecords& plugin, int& pid) {
    for (const PluginRecords::Item& item : plugin.items) {
      const tenon_record& record = item.record;
      const tenon_record_header& header = record.header;
      if (header.clock_domain >= plugin.clocks.size()) {
        ++timeline_.unclocked;
        continue;
      }
      const ClockDomain& clock = plugin.clocks[header.clock_domain];
      const Event* owner = OwnerOf(header.correlation_id);
      const std::int64_t near = owner == nullptr ? item.returned_ns : owner->start_ns + timeline_.origin_ns;
      Event event;
      event.start_ns = Relative(clock.ToHost(header.start, near));
      event.end_ns = IsPoint(header.kind) ? event.start_ns : Relative(clock.ToHost(header.end, near));
      if (event.end_ns < event.start_ns || event.end_ns < 0 || event.start_ns > timeline_.length_ns) {
        ++timeline_.unclocked;
        continue;
      }
      event.start_ns = Clamp(event.start_ns);
      event.end_ns = Clamp(event.end_ns);
      event.record_kind = header.kind;
      event.flags = header.flags;
      event.name = record.name;
      event.correlation = header.correlation_id;
      event.bytes = static_cast<std::int64_t>(record.bytes);
      event.value = record.value;
      if (owner != nullptr) {
        event.info = owner->info;
        event.step = owner->step;
      }
      event.track = TrackOf(plugin, header, pid);
      timeline_.events.push_back(event);
    }
  }

  const Event* OwnerOf(std::uint64_t correlation) const {
    if (correlation == 0 || correlation >= by_correlation_.size() || by_correlation_[correlation] < 0) return nullptr;
    return &timeline_.events[static_cast<std::size_t>(by_correlation_[correlation])];
  }

  // Of spans with equal ends the one that was added later is the outer one: activities come in the order of their ends.
  void SortEvents() {
    std::reverse(timeline_.events.begin(), timeline_.events.end());
    std::stable_sort(timeline_.events.begin(), timeline_.events.end(), [](const Event& a, const Event& b) {
      return std::tie(a.track, a.start_ns, b.end_ns) < std::tie(b.track, b.start_ns, a.end_ns);
    });
  }

  // A span that overlaps another one of its track without lying in it moves to a track of its own beside.
  void SeparateTracks() {
    std::vector<std::vector<std::int64_t>> open;  // by lane of the track at hand: ends of the spans around
    std::vector<std::uint32_t> lanes;
    const std::uint32_t base_count = static_cast<std::uint32_t>(timeline_.tracks.size());
    std::uint32_t track = UINT32_MAX;
    bool moved = false;
    for (Event& event : timeline_.events) {
      if (event.track >= base_count) continue;
      if (event.track != track) {
        track = event.track;
        open.assign(1, {});
        lanes.assign(1, track);
      }
      if (IsPoint(event.record_kind)) continue;
      const std::size_t lane = LaneFor(event, open);
      if (lane == lanes.size()) {
        Track beside = timeline_.tracks[track];
        beside.name += fmt::format(", overlapping {}", lane);
        beside.tid = static_cast<int>(timeline_.tracks.size()) + 1;
        lanes.push_back(static_cast<std::uint32_t>(timeline_.tracks.size()));
        timeline_.tracks.push_back(std::move(beside));
      }
      moved = moved || lane > 0;
      event.track = lanes[lane];
    }
    if (!moved) return;
    std::stable_sort(timeline_.events.begin(), timeline_.events.end(),
                     [](const Event& a, const Event& b) { return a.track < b.track; });
  }

  static std::size_t LaneFor(const Event& event, std::vector<std::vector<std::int64_t>>& open) {
    for (std::size_t lane = 0;; ++lane) {
      if (lane == open.size()) open.emplace_back();
      std::vector<std::int64_t>& ends = open[lane];
      while (!ends.empty() && ends.back() <= event.start_ns) ends.pop_back();
      if (!ends.empty() && event.end_ns > ends.back()) continue;
      ends.push_back(event.end_ns);
      return lane;
    }
  }

  void LinkOwners() {
    std::vector<std::uint32_t> owners(by_correlation_.size(), Event::kNoInfo);
    for (std::size_t i = 0; i < timeline_.events.size(); ++i) {
      const Event& event = timeline_.events[i];
      if (event.record_kind == 0 && event.correlation != 0) owners[event.correlation] = static_cast<std::uint32_t>(i);
    }
    for (Event& event : timeline_.events) {
      if (event.record_kind != 0 && event.correlation < owners.size()) event.owner = owners[event.correlation];
    }
  }

  const ActivityLog& log_;
  Timeline timeline_;
  Event phase_;                               // that is not over; no info: none
  std::vector<std::int64_t> by_correlation_;  // index in events while they are added
  std::map<std::tuple<std::string, std::uint32_t, std::uint32_t>, std::uint32_t> tracks_;
  std::map<std::pair<std::string, std::uint32_t>, int> processes_;
};

}  // namespace

Timeline Merge(const ActivityLog& log, const std::vector<PluginRecords>& plugins, std::int64_t begin_ns,
               std::int64_t end_ns) {
  return Merger(log, begin_ns, end_ns).Run(plugins);
}

}  // namespace tenon::profile
