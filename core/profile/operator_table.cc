#include "core/profile/operator_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "core/plugin/host_services.h"

namespace tenon::profile {
namespace {

constexpr const char* kHost = "host";
constexpr const char* kNoKernel = "-";

class TableMaker {
 public:
  explicit TableMaker(const Timeline& timeline) : timeline_(timeline) {}

  OperatorTable Run() {
    AddRecords();
    AddHostSpans();
    OperatorTable table;
    table.length_ns = timeline_.length_ns;
    for (auto& row : rows_) table.rows.push_back(std::move(row.second));
    std::stable_sort(table.rows.begin(), table.rows.end(),
                     [](const OperatorTable::Row& a, const OperatorTable::Row& b) { return a.self_ns > b.self_ns; });
    return table;
  }

 private:
  OperatorTable::Row& RowOf(const std::string& op, const std::string& device, const std::string& kernel) {
    OperatorTable::Row& row = rows_[{op, device, kernel}];
    row.op = op;
    row.device = device;
    row.kernel = kernel;
    return row;
  }

  // "cpu:0" of "cpu:0 (org.tenon.device_cpu)".
  std::string DeviceOf(const Event& event) const {
    const std::string& process = timeline_.tracks[event.track].process;
    return process.substr(0, process.find(' '));
  }

  // Counts the time of records; what lies inside the call of the host is taken off that call.
  void AddRecords() {
    inside_.assign(timeline_.events.size(), 0);
    recorded_.assign(timeline_.events.size(), false);
    for (const Event& event : timeline_.events) {
      const bool span = event.record_kind != 0 && event.record_kind != TENON_RECORD_ALLOCATION &&
                        event.record_kind != TENON_RECORD_COUNTER && event.record_kind != TENON_RECORD_MARKER;
      if (!span) continue;
      const std::int64_t took = event.end_ns - event.start_ns;
      std::string op = std::string(InternedText(event.name)), kernel = kNoKernel;
      std::int64_t bytes = event.bytes;
      if (event.owner != Event::kNoInfo) {
        const Event& call = timeline_.events[event.owner];
        const ActivityInfo& info = timeline_.infos[call.info];
        op = IsNode(info.kind) ? info.op : info.name;
        if (IsNode(info.kind)) kernel = info.kernel;
        if (recorded_[event.owner])
          bytes = 0;  // a second record of one call
        else
          bytes = call.bytes;
        recorded_[event.owner] = true;
        inside_[event.owner] +=
            std::max<std::int64_t>(0, std::min(event.end_ns, call.end_ns) - std::max(event.start_ns, call.start_ns));
      }
      OperatorTable::Row& row = RowOf(op, DeviceOf(event), kernel);
      ++row.calls;
      row.self_ns += took;
      row.bytes += bytes;
    }
  }

  // Every moment of the main thread belongs to the innermost span there.
  void AddHostSpans() {
    std::vector<std::size_t> open;
    std::int64_t top_level = 0;
    std::vector<std::int64_t> children(timeline_.events.size(), 0);
    for (std::size_t i = 0; i < timeline_.events.size(); ++i) {
      const Event& event = timeline_.events[i];
      if (event.record_kind != 0) continue;
      while (!open.empty() && timeline_.events[open.back()].end_ns <= event.start_ns) open.pop_back();
      (open.empty() ? top_level : children[open.back()]) += event.end_ns - event.start_ns;
      open.push_back(i);
    }
    OperatorTable::Row& host = RowOf("(host)", kHost, kNoKernel);
    host.self_ns += timeline_.length_ns - top_level;
    for (std::size_t i = 0; i < timeline_.events.size(); ++i) {
      const Event& event = timeline_.events[i];
      if (event.record_kind == 0)
        AddHostSpan(event, event.end_ns - event.start_ns - children[i] - inside_[i], recorded_[i]);
    }
  }

  void AddHostSpan(const Event& event, std::int64_t self, bool recorded) {
    const ActivityInfo& info = timeline_.infos[event.info];
    const bool around = info.kind == ActivityKind::kStep || info.kind == ActivityKind::kEvaluation ||
                        info.kind == ActivityKind::kForwardPass || info.kind == ActivityKind::kBackwardPass ||
                        info.kind == ActivityKind::kUpdatePass;
    if (around || recorded) {
      RowOf("(host)", kHost, kNoKernel).self_ns += self;
      return;
    }
    const bool node = IsNode(info.kind);
    OperatorTable::Row& row = RowOf(node ? info.op : info.name, kHost, node ? info.kernel : kNoKernel);
    ++row.calls;
    row.self_ns += self;
    row.bytes += event.bytes;
  }

  const Timeline& timeline_;
  std::vector<std::int64_t> inside_;  // by event: time of its records within it
  std::vector<bool> recorded_;        // by event: some record has it as its call
  std::map<std::tuple<std::string, std::string, std::string>, OperatorTable::Row> rows_;
};

std::string Bytes(std::int64_t bytes) {
  if (bytes == 0) return "-";
  constexpr const char* kUnits[] = {"B", "kB", "MB", "GB", "TB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= 1024 && unit < 4; ++unit) value /= 1024;
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", value, kUnits[unit]);
}

}  // namespace

OperatorTable MakeOperatorTable(const Timeline& timeline) { return TableMaker(timeline).Run(); }

std::vector<std::string> Print(const OperatorTable& table) {
  std::size_t op = 8, device = 6, kernel = 6;
  for (const OperatorTable::Row& row : table.rows) {
    op = std::max(op, row.op.size());
    device = std::max(device, row.device.size());
    kernel = std::max(kernel, row.kernel.size());
  }
  std::vector<std::string> lines;
  lines.push_back(fmt::format("{:<{}} {:>9} {:>12} {:>7}  {:<{}}  {:<{}} {:>10}", "operator", op, "calls", "self ms",
                              "share", "device", device, "kernel", kernel, "bytes"));
  for (const OperatorTable::Row& row : table.rows) {
    const double share =
        table.length_ns > 0 ? 100.0 * static_cast<double>(row.self_ns) / static_cast<double>(table.length_ns) : 0.0;
    lines.push_back(fmt::format("{:<{}} {:>9} {:>12.3f} {:>5.1f} %  {:<{}}  {:<{}} {:>10}", row.op, op,
                                row.calls > 0 ? fmt::format("{}", row.calls) : "-",
                                static_cast<double>(row.self_ns) * 1e-6, share, row.device, device, row.kernel, kernel,
                                Bytes(row.bytes)));
  }
  return lines;
}

}  // namespace tenon::profile
