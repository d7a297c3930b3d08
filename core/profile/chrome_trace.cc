#include "core/profile/chrome_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "core/platform/atomic_file.h"
#include "core/plugin/host_services.h"

namespace tenon::profile {
namespace {

// A JSON string; bytes that are no UTF-8 become replacement characters.
std::string Quoted(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

const char* CategoryOf(ActivityKind kind) {
  switch (kind) {
    case ActivityKind::kForward:
      return "forward";
    case ActivityKind::kBackward:
      return "backward";
    case ActivityKind::kUpdate:
      return "update";
    case ActivityKind::kEvaluate:
      return "evaluate";
    case ActivityKind::kCopyToDevice:
    case ActivityKind::kCopyToHost:
    case ActivityKind::kCopyOnDevice:
      return "copy";
    case ActivityKind::kForwardPass:
    case ActivityKind::kBackwardPass:
    case ActivityKind::kUpdatePass:
    case ActivityKind::kStep:
    case ActivityKind::kEvaluation:
    case ActivityKind::kCheckpoint:
    case ActivityKind::kCompile:
    case ActivityKind::kDataWait:
    case ActivityKind::kDeviceWait:
      return "run";
  }
  return "run";
}

const char* NameOfRecord(std::uint16_t kind) {
  switch (kind) {
    case TENON_RECORD_RUNTIME_CALL:
      return "runtime call";
    case TENON_RECORD_KERNEL:
      return "kernel";
    case TENON_RECORD_COPY:
      return "copy";
    case TENON_RECORD_FILL:
      return "fill";
    case TENON_RECORD_SYNC:
      return "sync";
    case TENON_RECORD_COLLECTIVE:
      return "collective";
    case TENON_RECORD_COLLECTIVE_STEP:
      return "collective step";
    case TENON_RECORD_ALLOCATION:
      return "allocation";
    case TENON_RECORD_COUNTER:
      return "counter";
    case TENON_RECORD_MARKER:
      return "marker";
    default:
      return "record";
  }
}

const char* EndMeans(std::uint16_t flags) {
  if ((flags & TENON_RECORD_END_ENQUEUED) != 0) return "enqueued";
  if ((flags & TENON_RECORD_END_STARTED) != 0) return "started";
  return (flags & TENON_RECORD_END_FINISHED) != 0 ? "finished" : nullptr;
}

// Microseconds with three digits after the point, whatever the locale.
std::string Micros(std::int64_t ns) { return fmt::format("{}.{:03}", ns / 1000, ns % 1000); }

class Writer {
 public:
  Writer(const Timeline& timeline, AtomicFile& file) : timeline_(timeline), file_(file) {
    for (const ActivityInfo& info : timeline.infos)
      infos_.push_back({Quoted(info.name), Quoted(info.op), Quoted(info.kernel), CategoryOf(info.kind)});
  }

  Status Run(const TraceFacts& facts) {
    TENON_TRY(file_.Append("{\"displayTimeUnit\":\"ns\",\"otherData\":" + Facts(facts) + ",\n\"traceEvents\":[\n"));
    TENON_TRY(WriteNames());
    for (const Event& event : timeline_.events) TENON_TRY(WriteEvent(event));
    return file_.Append("\n]}\n");
  }

 private:
  struct InfoTexts {
    std::string name, op, kernel;
    const char* category;
  };

  std::string Facts(const TraceFacts& facts) const {
    return nlohmann::ordered_json{{"name", facts.name},
                                  {"device", facts.device},
                                  {"tenon_version", facts.tenon_version},
                                  {"dropped", timeline_.dropped},
                                  {"unclocked", timeline_.unclocked},
                                  {"malformed", timeline_.malformed},
                                  {"origin_monotonic_raw_ns", timeline_.origin_ns}}
        .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  }

  Status Put(const std::string& event) {
    if (!first_) TENON_TRY(file_.Append(",\n"));
    first_ = false;
    return file_.Append(event);
  }

  Status WriteNames() {
    std::map<int, std::string> processes;
    for (const Track& track : timeline_.tracks) processes.emplace(track.pid, track.process);
    for (const auto& process : processes) {
      TENON_TRY(Put(Named("process_name", process.first, 0, process.second)));
      TENON_TRY(Put(Sorted("process_sort_index", process.first, 0, process.first)));
    }
    for (const Track& track : timeline_.tracks) {
      TENON_TRY(Put(Named("thread_name", track.pid, track.tid, track.name)));
      TENON_TRY(Put(Sorted("thread_sort_index", track.pid, track.tid, track.tid)));
    }
    return {};
  }

  static std::string Named(const char* what, int pid, int tid, const std::string& name) {
    return fmt::format(R"({{"ph":"M","name":"{}","pid":{},"tid":{},"args":{{"name":{}}}}})", what, pid, tid,
                       Quoted(name));
  }
  static std::string Sorted(const char* what, int pid, int tid, int index) {
    return fmt::format(R"({{"ph":"M","name":"{}","pid":{},"tid":{},"args":{{"sort_index":{}}}}})", what, pid, tid,
                       index);
  }

  std::string At(const Event& event, std::int64_t ns) const {
    const Track& track = timeline_.tracks[event.track];
    return fmt::format(R"("ts":{},"pid":{},"tid":{})", Micros(ns), track.pid, track.tid);
  }

  // Name of a record in quotes; what the plugin left unnamed is called by its kind.
  const std::string& NameOf(const Event& event) {
    const auto found = names_.find(event.name);
    if (event.name != 0 && found != names_.end()) return found->second;
    const std::string_view text = InternedText(event.name);
    if (event.name != 0 && !text.empty()) return names_.emplace(event.name, Quoted(text)).first->second;
    return kinds_.try_emplace(event.record_kind, Quoted(NameOfRecord(event.record_kind))).first->second;
  }

  static void AddArg(std::string& args, const char* key, std::string_view value) {
    args += fmt::format("{}\"{}\":{}", args.empty() ? "" : ",", key, value);
  }

  std::string ArgsOf(const Event& event) const {
    std::string args;
    if (event.step > 0) AddArg(args, "step", fmt::format("{}", event.step));
    if (event.info != Event::kNoInfo && IsNode(timeline_.infos[event.info].kind)) {
      const InfoTexts& info = infos_[event.info];
      if (event.record_kind != 0) AddArg(args, "node", info.name);
      AddArg(args, "op", info.op);
      if (event.record_kind == 0) AddArg(args, "kernel", info.kernel);
    }
    if (event.bytes > 0) AddArg(args, "bytes", fmt::format("{}", event.bytes));
    if (event.correlation > 0) AddArg(args, "correlation", fmt::format("{}", event.correlation));
    if (const char* means = EndMeans(event.flags)) AddArg(args, "end", Quoted(means));
    if ((event.flags & TENON_RECORD_FAILED) != 0) AddArg(args, "failed", "true");
    return args;
  }

  Status WriteEvent(const Event& event) {
    if (event.record_kind == TENON_RECORD_COUNTER) {
      if (!std::isfinite(event.value)) return {};
      return Put(fmt::format(R"({{"ph":"C","name":{},{},"args":{{"value":{}}}}})", NameOf(event),
                             At(event, event.start_ns), nlohmann::json(event.value).dump()));
    }
    if (event.record_kind == TENON_RECORD_ALLOCATION || event.record_kind == TENON_RECORD_MARKER)
      return Put(fmt::format(R"({{"ph":"i","s":"t","name":{},"cat":"{}",{},"args":{{{}}}}})", NameOf(event),
                             NameOfRecord(event.record_kind), At(event, event.start_ns), ArgsOf(event)));
    const bool host = event.record_kind == 0;
    const std::string& name = host ? infos_[event.info].name : NameOf(event);
    const char* category = host ? infos_[event.info].category : NameOfRecord(event.record_kind);
    TENON_TRY(Put(fmt::format(R"({{"ph":"X","name":{},"cat":"{}",{},"dur":{},"args":{{{}}}}})", name, category,
                              At(event, event.start_ns), Micros(event.end_ns - event.start_ns), ArgsOf(event))));
    return host || event.owner == Event::kNoInfo ? Status() : WriteFlow(timeline_.events[event.owner], event);
  }

  // From within the call of the host to the start of what it made. A call that makes several records has a flow to each.
  Status WriteFlow(const Event& from, const Event& to) {
    const std::int64_t middle = from.start_ns + (from.end_ns - from.start_ns) / 2;
    const std::int64_t leaves = std::clamp(to.start_ns, from.start_ns, middle);
    if (leaves > to.start_ns) return {};  // the clocks are not good enough to tell which came first
    const std::uint64_t id = ++flows_;
    TENON_TRY(Put(fmt::format(R"({{"ph":"s","name":"call","cat":"flow","id":{},{}}})", id, At(from, leaves))));
    return Put(fmt::format(R"({{"ph":"f","bp":"e","name":"call","cat":"flow","id":{},{}}})", id, At(to, to.start_ns)));
  }

  const Timeline& timeline_;
  AtomicFile& file_;
  std::vector<InfoTexts> infos_;
  std::map<std::uint64_t, std::string> names_;
  std::map<std::uint16_t, std::string> kinds_;
  std::uint64_t flows_ = 0;
  bool first_ = true;
};

}  // namespace

Status WriteChromeTrace(const Timeline& timeline, const TraceFacts& facts, const std::string& path) {
  TENON_ASSIGN(AtomicFile file, AtomicFile::Create(path));
  TENON_TRY(Writer(timeline, file).Run(facts));
  return file.Commit();
}

}  // namespace tenon::profile
