// Records of plugins and activities of the host become one timeline, a trace and a table.
#include "core/profile/timeline.h"

#include <gtest/gtest.h>

#include <clocale>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/plugin/host_services.h"
#include "core/profile/chrome_trace.h"
#include "core/profile/operator_table.h"
#include "tests/support/temp_folder.h"
#include "tests/support/trace_check.h"

namespace tenon::profile {
namespace {

using testing_support::CheckTrace;
using testing_support::ReadFile;
using testing_support::TempFolder;

constexpr std::int64_t kStart = 1'000'000;

class TimelineTest : public testing::Test {
 protected:
  TimelineTest() : host_({}, "com.vendor.x", "x.so", {}) {
    plugin_.plugin_id = "com.vendor.x";
    plugin_.devices = {"x:0"};
    clocks_.emplace_back("ticks", 10.0, 0);
    clocks_[0].AddPair(0, kStart, 1);
    plugin_.clocks = clocks_;
  }

  std::uint32_t Node(ActivityKind phase, const std::string& name, const std::string& op) {
    return log_.Define({phase, name, op, "x/" + op, 100});
  }
  // From `start` to `end` after kStart; returns the correlation id.
  std::uint64_t Add(std::uint32_t info, std::int64_t start, std::int64_t end, bool calls = true) {
    const std::uint64_t id = calls ? log_.NextCorrelation() : 0;
    log_.Add(info, id, kStart + start, kStart + end);
    return id;
  }
  void AddPlain(ActivityKind kind, std::int64_t start, std::int64_t end) {
    log_.Add(ActivityLog::IdOf(kind), 0, kStart + start, kStart + end);
  }
  // Times in ticks of 10 ns.
  tenon_record& Record(std::uint16_t kind, std::uint64_t correlation, std::uint64_t start, std::uint64_t end,
                       std::uint32_t stream = 1) {
    tenon_record record{};
    record.header.kind = kind;
    record.header.size = sizeof record;
    record.header.stream = stream;
    record.header.correlation_id = correlation;
    record.header.start = start;
    record.header.end = end;
    plugin_.items.push_back({record, kStart});
    return plugin_.items.back().record;
  }
  std::uint64_t Name(const std::string& text) {
    return host_.api()->intern(host_.api()->host, tenon_str{text.data(), text.size()});
  }
  Timeline Merged(std::int64_t length = 1000) { return Merge(log_, {plugin_}, kStart, kStart + length); }
  nlohmann::json Trace(const Timeline& timeline) {
    const std::string path = folder_ / "trace.json";
    const Status written = WriteChromeTrace(timeline, {"run", "0.1.0", "x"}, path);
    EXPECT_TRUE(written.ok()) << written.ToString();
    return nlohmann::json::parse(ReadFile(path));
  }

  HostServices host_;
  ActivityLog log_{1 << 20};
  PluginRecords plugin_;
  std::vector<ClockDomain> clocks_;
  TempFolder folder_;
};

const Event* FindRecord(const Timeline& timeline, std::uint64_t correlation) {
  for (const Event& event : timeline.events) {
    if (event.record_kind != 0 && event.correlation == correlation) return &event;
  }
  return nullptr;
}

TEST_F(TimelineTest, ARecordIsTiedToTheCallThatMadeIt) {
  log_.set_step(3);
  const std::uint64_t id = Add(Node(ActivityKind::kForward, "conv1", "Conv"), 100, 200);
  Record(TENON_RECORD_KERNEL, id, 11, 19);
  const Timeline timeline = Merged();
  const Event* record = FindRecord(timeline, id);
  ASSERT_NE(record, nullptr);
  EXPECT_EQ(record->start_ns, 110);
  EXPECT_EQ(record->end_ns, 190);
  EXPECT_EQ(record->step, 3);
  ASSERT_NE(record->owner, Event::kNoInfo);
  EXPECT_EQ(timeline.infos[timeline.events[record->owner].info].name, "conv1");
  EXPECT_EQ(timeline.tracks[record->track].process, "x:0 (com.vendor.x)");
  EXPECT_EQ(timeline.tracks[record->track].name, "stream 1");
}

TEST_F(TimelineTest, NodesOfAPhaseHaveASpanAround) {
  const std::uint32_t a = Node(ActivityKind::kForward, "a", "A"), b = Node(ActivityKind::kBackward, "b", "B");
  log_.set_step(1);
  Add(a, 10, 20);
  Add(a, 20, 30);
  AddPlain(ActivityKind::kCopyToHost, 30, 35);
  Add(b, 40, 60);
  AddPlain(ActivityKind::kStep, 5, 70);
  log_.set_step(2);
  Add(a, 80, 90);
  AddPlain(ActivityKind::kStep, 75, 95);
  const Timeline timeline = Merged();
  std::vector<std::pair<std::string, std::pair<std::int64_t, std::int64_t>>> around;
  for (const Event& event : timeline.events) {
    const ActivityInfo& info = timeline.infos[event.info];
    if (info.kind == ActivityKind::kForwardPass || info.kind == ActivityKind::kBackwardPass)
      around.push_back({info.name, {event.start_ns, event.end_ns}});
  }
  EXPECT_EQ(around, (decltype(around){{"forward", {10, 30}}, {"backward", {40, 60}}, {"forward", {80, 90}}}));
  EXPECT_EQ(CheckTrace(Trace(timeline)), std::vector<std::string>{});
}

// G53: an asynchronous copy beside kernels of another stream; a plugin that mixes up its streams.
TEST_F(TimelineTest, WhatOverlapsHasTracksOfItsOwn) {
  const std::uint64_t id = Add(Node(ActivityKind::kForward, "n", "N"), 0, 50);
  Record(TENON_RECORD_KERNEL, id, 10, 20, 1);
  Record(TENON_RECORD_COPY, id, 15, 25, 2);
  Record(TENON_RECORD_KERNEL, id, 30, 40, 1);
  Record(TENON_RECORD_KERNEL, id, 35, 45, 1);
  Record(TENON_RECORD_KERNEL, id, 38, 50, 1);
  Record(TENON_RECORD_KERNEL, id, 31, 32, 1);
  const Timeline timeline = Merged();
  std::vector<std::string> names;
  for (const Track& track : timeline.tracks) names.push_back(track.name);
  EXPECT_EQ(names, (std::vector<std::string>{"main thread", "stream 1", "stream 2", "stream 1, overlapping 1",
                                             "stream 1, overlapping 2"}));
  EXPECT_EQ(CheckTrace(Trace(timeline)), std::vector<std::string>{});
}

TEST_F(TimelineTest, WhatMakesNoSenseIsLeftOutAndCounted) {
  Record(TENON_RECORD_KERNEL, 0, 20, 10);                          // ends before it starts
  Record(TENON_RECORD_KERNEL, 0, 10, 20).header.clock_domain = 7;  // there is one clock
  Record(TENON_RECORD_KERNEL, 0, 1'000'000, 1'000'001);            // after the end
  Record(TENON_RECORD_KERNEL, 0, 90, 2000);                        // is cut at the end
  const Timeline timeline = Merged();
  EXPECT_EQ(timeline.unclocked, 3);
  ASSERT_EQ(timeline.events.size(), 1U);
  EXPECT_EQ(timeline.events[0].end_ns, 1000);
}

// G52: names with quotes, backslash, line end, control byte, bytes that are no UTF-8, and emoji; numbers that are none;
// a locale with a comma.
TEST_F(TimelineTest, AnyNameAndNumberGivesReadableJson) {
  const std::string odd = "a\"b\\c\nd\x01 \xF0\x9F\x94\xA5";
  std::setlocale(LC_ALL, "de_DE.UTF-8");
  const std::uint64_t id = Add(log_.Define({ActivityKind::kForward, odd, "Conv", "k", 1}), 100, 230);
  Record(TENON_RECORD_KERNEL, id, 11, 19).name = Name(odd);
  Record(TENON_RECORD_KERNEL, id, 19, 20).name = Name("bad \xFF\xFE bytes");
  Record(TENON_RECORD_COUNTER, 0, 5, 5).value = 0.25;
  Record(TENON_RECORD_COUNTER, 0, 6, 6).value = std::numeric_limits<double>::quiet_NaN();
  Record(TENON_RECORD_COUNTER, 0, 7, 7).value = std::numeric_limits<double>::infinity();
  Record(TENON_RECORD_MARKER, 0, 8, 8);
  const auto trace = Trace(Merged());
  std::setlocale(LC_ALL, "C");
  EXPECT_EQ(CheckTrace(trace), std::vector<std::string>{});
  int host = 0, device = 0, counters = 0, markers = 0;
  for (const auto& event : trace.at("traceEvents")) {
    if (event.at("ph") == "X" && event.at("name") == odd) ++(event.at("pid") == 1 ? host : device);
    if (event.at("ph") == "C") ++counters;
    if (event.at("ph") == "i") ++markers;
  }
  EXPECT_EQ(host, 1);
  EXPECT_EQ(device, 1);
  EXPECT_EQ(counters, 1);
  EXPECT_EQ(markers, 1);
}

TEST_F(TimelineTest, NoEventsIsATraceToo) { EXPECT_EQ(CheckTrace(Trace(Merged())), std::vector<std::string>{}); }

TEST_F(TimelineTest, TimesAreExactToTheNanosecond) {
  AddPlain(ActivityKind::kCheckpoint, 1, 1'234'568);
  const auto trace = Trace(Merged(2'000'000));
  const auto& event = trace.at("traceEvents").back();
  EXPECT_EQ(event.at("ts").dump(), "0.001");
  EXPECT_EQ(event.at("dur").dump(), "1234.567");
}

OperatorTable::Row RowOf(const OperatorTable& table, const std::string& op) {
  for (const OperatorTable::Row& row : table.rows) {
    if (row.op == op) return row;
  }
  return {};
}

TEST_F(TimelineTest, TheRowsOfAnInlineDeviceAddUpToTheLength) {
  log_.set_step(1);
  AddPlain(ActivityKind::kDataWait, 20, 50);
  const std::uint32_t conv = Node(ActivityKind::kForward, "conv1", "Conv");
  for (const std::int64_t at : {100, 200})
    Record(TENON_RECORD_KERNEL, Add(conv, at, at + 100), at / 10 + 1, at / 10 + 9);
  const std::uint32_t relu = log_.Define({ActivityKind::kForward, "relu", "Relu", "reference", 8});
  Add(relu, 300, 360);  // without a record: the host ran it
  AddPlain(ActivityKind::kStep, 10, 400);
  log_.set_step(0);
  const OperatorTable table = MakeOperatorTable(Merged());
  EXPECT_EQ(RowOf(table, "Conv").calls, 2);
  EXPECT_EQ(RowOf(table, "Conv").self_ns, 160);
  EXPECT_EQ(RowOf(table, "Conv").bytes, 200);
  EXPECT_EQ(RowOf(table, "Conv").device, "x:0");
  EXPECT_EQ(RowOf(table, "Conv").kernel, "x/Conv");
  EXPECT_EQ(RowOf(table, "Relu").self_ns, 60);
  EXPECT_EQ(RowOf(table, "Relu").device, "host");
  EXPECT_EQ(RowOf(table, "Relu").kernel, "reference");
  EXPECT_EQ(RowOf(table, "data wait").self_ns, 30);
  EXPECT_EQ(RowOf(table, "(host)").self_ns, 1000 - 160 - 60 - 30);
  std::int64_t sum = 0;
  for (const OperatorTable::Row& row : table.rows) sum += row.self_ns;
  EXPECT_EQ(sum, 1000);
  const std::vector<std::string> lines = Print(table);
  ASSERT_EQ(lines.size(), table.rows.size() + 1);
  EXPECT_NE(lines[2].find("Conv"), std::string::npos) << lines[2];
  EXPECT_NE(lines[2].find("16.0 %"), std::string::npos) << lines[2];
}

// A kernel that runs while the host goes on, and a copy with two records.
TEST_F(TimelineTest, ADeviceBesideTheHost) {
  const std::uint64_t id = Add(Node(ActivityKind::kForward, "conv1", "Conv"), 0, 10);
  Record(TENON_RECORD_KERNEL, id, 2, 52);
  const std::uint64_t copy = log_.NextCorrelation();
  log_.Add(ActivityLog::IdOf(ActivityKind::kCopyToHost), copy, kStart + 600, kStart + 650, 4096);
  Record(TENON_RECORD_COPY, copy, 60, 62);
  Record(TENON_RECORD_COPY, copy, 62, 64);
  const OperatorTable table = MakeOperatorTable(Merged());
  EXPECT_EQ(RowOf(table, "Conv").self_ns, 500);
  EXPECT_EQ(RowOf(table, "copy to host").calls, 2);
  EXPECT_EQ(RowOf(table, "copy to host").bytes, 4096);
  EXPECT_EQ(RowOf(table, "(host)").self_ns, 1000 - 40);
}

TEST_F(TimelineTest, ALogThatIsFullCounts) {
  ActivityLog small(static_cast<std::int64_t>(2048 * sizeof(Activity)));
  for (int i = 0; i < 3000; ++i) small.Add(0, 0, kStart + i, kStart + i + 1);
  EXPECT_EQ(small.dropped(), 3000 - 2048);
  EXPECT_EQ(Merge(small, {}, kStart, kStart + 5000).dropped, 3000 - 2048);
  EXPECT_EQ(small.Activities().size(), 2048U);
}

}  // namespace
}  // namespace tenon::profile
