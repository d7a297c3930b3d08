#include "tools/conform/perf.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <sstream>

#include "tools/conform/kernel_calls.h"
#include "tools/conform/runner.h"

namespace tenon::conform {
namespace {

double NowNs() {
  return static_cast<double>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
          .count());
}

// The best of several rounds, for one call.
template <class F>
double Best(int calls, F&& body) {
  double best = 1e18;
  for (int round = 0; round < 7; ++round) {
    const double start = NowNs();
    for (int i = 0; i < calls; ++i) body();
    best = std::min(best, (NowNs() - start) / calls);
  }
  return best;
}

std::map<std::string, double> Parse(const std::string& text) {
  std::map<std::string, double> times;
  std::istringstream lines(text);
  std::string line;
  while (std::getline(lines, line)) {
    const std::size_t tab = line.find('\t');
    if (tab != std::string::npos) times[line.substr(0, tab)] = std::stod(line.substr(tab + 1));
  }
  return times;
}

}  // namespace

void Measure(Context& context) {
  Session s(context);
  std::string lines;
  const auto add = [&lines](const std::string& what, double ns) { lines += fmt::format("{}\t{:.1f}\n", what, ns); };
  add("alloc and free of 1 MiB", Best(100, [&s] {
        Block block = s.Allocate(1 << 20);
        s.Free(block);
      }));
  Block a = s.Allocate(16 << 20), b = s.Allocate(16 << 20);
  add("fill of 16 MiB", Best(3, [&] {
        s.Fill(a, 1, s.stream());
        s.Synchronize(s.stream());
      }));
  std::vector<std::uint8_t> host(16 << 20, 1);
  add("copy of 16 MiB from host memory", Best(3, [&] {
        s.Upload(host.data(), a.address, host.size(), s.stream());
        s.Synchronize(s.stream());
      }));
  tenon_event* event = s.NewEvent();
  add("event record and wait", Best(200, [&] {
        s.Record(event, s.stream());
        s.WaitEvent(s.stream(), event);
      }));
  TENON_CALL(tenon.stream, &s.streams(), event_destroy, event);
  s.Free(a);
  s.Free(b);
  std::string last;
  const auto run_call = [&](const KernelOf& kernel, const OpCall& call) {
    if (call.text == last) return;  // the first kernel that takes it, as a host chooses
    last = call.text;
    KernelRun run(s, kernel, call);
    run.Create();
    run.Plan();
    run.PutOperands();
    add(call.text, Best(50, [&run] { run.Execute(); }));
  };
  if (s.Table<tenon_op_vtable>() != nullptr) ForEachCall(s, {DType::kF32}, Values::kOrdinary, run_call);
  context.Require(!lines.empty(), "Nothing was measured.");
  context.Note(lines);
}

Status ComparePerformance(const CaseSettings& settings, const std::string& other) {
  static constexpr Case kMeasure = {-1, "L2", "perf", "c.17", "Measures.", Measure, 600};
  CaseSettings second = settings;
  second.plugin = other;
  const CaseResult one = RunCase(kMeasure, settings), two = RunCase(kMeasure, second);
  for (const CaseResult* result : {&one, &two}) {
    if (result->outcome != Outcome::kPassed) return Error(Code::kUnavailable, "{}", result->message);
  }
  const auto mine = Parse(one.message), theirs = Parse(two.message);
  std::printf("%12s %12s %7s  what (A: %s, B: %s)\n", "A ns", "B ns", "A / B", settings.plugin.c_str(), other.c_str());
  for (const auto& [what, ns] : mine) {
    const auto found = theirs.find(what);
    if (found == theirs.end()) {
      std::printf("%12.0f %12s %7s  %s\n", ns, "-", "", what.c_str());
    } else {
      std::printf("%12.0f %12.0f %7.2f  %s\n", ns, found->second, ns / found->second, what.c_str());
    }
  }
  return {};
}

}  // namespace tenon::conform
