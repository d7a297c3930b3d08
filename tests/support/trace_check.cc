#include "tests/support/trace_check.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

namespace tenon::testing_support {
namespace {

using nlohmann::json;
using Thread = std::pair<std::int64_t, std::int64_t>;

// Times of the format are microseconds, of ours exact to the nanosecond.
std::int64_t Nanoseconds(const json& micros) { return std::llround(micros.get<double>() * 1000.0); }

class Checker {
 public:
  std::vector<std::string> Run(const json& trace) {
    const json* events = &trace;
    if (trace.is_object()) {
      if (!trace.contains("traceEvents")) return {"an object without traceEvents"};
      events = &trace.at("traceEvents");
      if (trace.contains("displayTimeUnit") && trace.at("displayTimeUnit") != "ms" &&
          trace.at("displayTimeUnit") != "ns")
        Fail("displayTimeUnit is " + trace.at("displayTimeUnit").dump());
    }
    if (!events->is_array()) return {"the events are no array"};
    for (const json& event : *events) CheckEvent(event);
    CheckNesting();
    CheckFlows();
    for (const Thread& thread : used_) {
      if (named_processes_.count(thread.first) == 0) Fail("no process_name of " + std::to_string(thread.first));
      if (named_threads_.count(thread) == 0)
        Fail("no thread_name of " + std::to_string(thread.first) + "/" + std::to_string(thread.second));
    }
    return std::move(problems_);
  }

 private:
  struct Span {
    std::int64_t start, end;
    std::string text;
  };
  struct FlowEnd {
    std::int64_t ts;
    Thread thread;
  };

  void Fail(const std::string& what) {
    if (problems_.size() < 20) problems_.push_back(what);
  }
  void Require(bool right, const json& event, const std::string& what) {
    if (!right) Fail(what + ": " + event.dump());
  }
  static bool IsInteger(const json& event, const char* key) {
    return event.contains(key) && event.at(key).is_number_integer();
  }
  static bool IsTime(const json& event, const char* key) {
    return event.contains(key) && event.at(key).is_number() && event.at(key).get<double>() >= 0;
  }

  void CheckEvent(const json& event) {
    if (!event.is_object() || !event.contains("ph") || !event.at("ph").is_string())
      return Fail("no ph: " + event.dump());
    const std::string phase = event.at("ph");
    Require(event.contains("name") && event.at("name").is_string(), event, "no name");
    Require(IsInteger(event, "pid") && IsInteger(event, "tid"), event, "pid and tid must be integers");
    if (!problems_.empty()) return;
    const Thread thread = {event.at("pid"), event.at("tid")};
    if (phase == "M") return CheckMetadata(event, thread);
    Require(IsTime(event, "ts"), event, "no ts");
    if (!IsTime(event, "ts")) return;
    used_.insert(thread);
    if (event.contains("args")) Require(event.at("args").is_object(), event, "args is no object");
    if (phase == "X") return CheckSpan(event, thread);
    if (phase == "s" || phase == "t" || phase == "f") return CheckFlow(event, phase, thread);
    if (phase == "i")
      return Require(event.contains("s") && std::set<json>{"g", "p", "t"}.count(event.at("s")) > 0, event, "scope");
    if (phase == "C") return CheckCounter(event);
    Fail("phase is not known: " + event.dump());
  }

  void CheckMetadata(const json& event, const Thread& thread) {
    const std::string name = event.at("name");
    Require(event.contains("args") && event.at("args").is_object(), event, "metadata without args");
    if (!problems_.empty()) return;
    const json& args = event.at("args");
    if (name == "process_name" || name == "thread_name") {
      Require(args.contains("name") && args.at("name").is_string(), event, "name of metadata");
      if (name == "process_name") named_processes_.insert(thread.first);
      if (name == "thread_name") named_threads_.insert(thread);
    } else if (name == "process_sort_index" || name == "thread_sort_index") {
      Require(IsInteger(args, "sort_index"), event, "sort_index");
    } else {
      Require(name == "process_labels", event, "metadata is not known");
    }
  }

  void CheckSpan(const json& event, const Thread& thread) {
    Require(IsTime(event, "dur"), event, "no dur");
    if (!IsTime(event, "dur")) return;
    const std::int64_t start = Nanoseconds(event.at("ts"));
    spans_[thread].push_back({start, start + Nanoseconds(event.at("dur")), event.dump()});
  }

  void CheckCounter(const json& event) {
    bool numbers = event.contains("args") && event.at("args").is_object() && !event.at("args").empty();
    if (numbers) {
      for (const json& value : event.at("args")) numbers = numbers && value.is_number();
    }
    Require(numbers, event, "a counter needs numbers");
  }

  void CheckFlow(const json& event, const std::string& phase, const Thread& thread) {
    Require(event.contains("id") && event.contains("cat"), event, "a flow needs id and cat");
    if (event.contains("bp")) Require(phase == "f" && event.at("bp") == "e", event, "bp");
    if (!event.contains("id") || !event.contains("cat")) return;
    const auto key = std::make_tuple(event.at("cat").dump(), event.at("name").dump(), event.at("id").dump());
    (phase == "s" ? starts_ : ends_)[key].push_back({Nanoseconds(event.at("ts")), thread});
  }

  void CheckNesting() {
    for (auto& [thread, spans] : spans_) {
      std::stable_sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) {
        return std::tie(a.start, b.end) < std::tie(b.start, a.end);
      });
      std::vector<const Span*> open;
      for (const Span& span : spans) {
        while (!open.empty() && open.back()->end <= span.start) open.pop_back();
        if (!open.empty() && span.end > open.back()->end)
          Fail("overlap without nesting: " + span.text + " in " + open.back()->text);
        open.push_back(&span);
      }
    }
  }

  bool LiesInSpan(const FlowEnd& end) {
    const std::vector<Span>& spans = spans_[end.thread];
    return std::any_of(spans.begin(), spans.end(),
                       [&](const Span& span) { return span.start <= end.ts && end.ts <= span.end; });
  }

  void CheckFlows() {
    for (const auto& start : starts_) {
      const std::string id = std::get<2>(start.first);
      if (start.second.size() != 1) Fail("flow " + id + " starts more than once");
      const auto found = ends_.find(start.first);
      if (found == ends_.end()) {
        Fail("flow " + id + " has no end");
        continue;
      }
      for (const FlowEnd& end : found->second) {
        if (end.ts < start.second[0].ts) Fail("flow " + id + " ends before it starts");
      }
    }
    // Looking for the span around costs time: the first flows tell enough.
    std::size_t looked_at = 0;
    for (const auto& end : ends_) {
      if (starts_.count(end.first) == 0) Fail("flow " + std::get<2>(end.first) + " has no start");
      if (++looked_at > 500) continue;
      for (const FlowEnd& one : end.second) {
        if (!LiesInSpan(one)) Fail("the end of flow " + std::get<2>(end.first) + " lies in no span");
      }
      if (starts_.count(end.first) > 0 && !LiesInSpan(starts_[end.first][0]))
        Fail("the start of flow " + std::get<2>(end.first) + " lies in no span");
    }
  }

  using FlowKey = std::tuple<std::string, std::string, std::string>;
  std::vector<std::string> problems_;
  std::set<Thread> used_, named_threads_;
  std::set<std::int64_t> named_processes_;
  std::map<Thread, std::vector<Span>> spans_;
  std::map<FlowKey, std::vector<FlowEnd>> starts_, ends_;
};

}  // namespace

std::vector<std::string> CheckTrace(const json& trace) { return Checker().Run(trace); }

}  // namespace tenon::testing_support
