// A conformance case: one small function that is handed a Context, checks something and returns. Each case runs in a
// process of its own, so a failed check ends that process with the report written: no unwinding through a plugin that
// has just misbehaved, and a check may stand in any thread or callback.
#pragma once

#include <fmt/format.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tenon::conform {

class Context;

struct Case {
  int number;          // in the list of the ABI's conformance kit; never reused
  const char* level;   // "L0" .. "L5"
  const char* name;    // "destroy_pending"
  const char* clause;  // section of the contract that it enforces: "c.6"
  const char* checks;  // what must hold, one sentence
  void (*run)(Context& context);
  int timeout_s = 60;

  std::string id() const { return fmt::format("{}.{}_{}", level, number, name); }
};

// All cases by number.
std::span<const Case> Cases();
// By id ("L1.43_destroy_pending"), by number ("43") or by name ("destroy_pending"); null when there is none.
const Case* FindCase(std::string_view text);

enum class Outcome { kPassed, kFailed, kSkipped, kExcepted };
const char* OutcomeName(Outcome outcome);

// What cases may be told on the command line.
struct CaseSettings {
  std::string plugin;      // absolute path of the file under test
  std::string device;      // file of the plugin whose device runs kernels where `plugin` has none; empty: none
  bool long_runs = false;  // opt-in: hours, gigabytes
  std::string record;      // file that receives every call; empty: none
  int result_fd = -1;
  std::string self;                  // the program, for cases that start ranks of their own
  std::vector<std::string> options;  // "key=value": options of the plugin
};

// What a case is given, and how it reports. Any thread.
class Context {
 public:
  Context(const Case& which, CaseSettings settings);

  const Case& which() const { return *case_; }
  const CaseSettings& settings() const { return settings_; }
  const std::string& plugin() const { return settings_.plugin; }

  // Counts one check; a false one ends the case as failed with the formatted text, a full sentence.
  template <class... Args>
  void Require(bool holds, fmt::format_string<Args...> text, Args&&... args) {
    checks_.fetch_add(1, std::memory_order_relaxed);
    if (!holds) Fail(fmt::format(text, std::forward<Args>(args)...));
  }
  [[noreturn]] void Fail(const std::string& text);
  // What cannot be run says why; never called after a check that mattered.
  [[noreturn]] void Skip(const std::string& reason);
  // A remark that is printed with the result: how much was covered.
  void Note(std::string text);
  // The case came to its end: passed, unless it checked nothing.
  [[noreturn]] void Finish();

 private:
  [[noreturn]] void End(Outcome outcome, const std::string& text);
  const Case* case_;
  CaseSettings settings_;
  std::atomic<std::int64_t> checks_{0};
  std::atomic<bool> ended_{false};
  std::string note_;
};

}  // namespace tenon::conform
