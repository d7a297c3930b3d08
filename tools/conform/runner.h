// Runs cases, each in a process of its own, and gathers what became of them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "tools/conform/case.h"

namespace tenon::conform {

struct CaseResult {
  const Case* which = nullptr;
  Outcome outcome = Outcome::kFailed;
  std::string message;
  double ms = 0;
  std::string device;  // name of the plugin that lent its device; empty: none
};

// Starts this program once more for one case. A signal, an early end and a missing report are failures that say so.
CaseResult RunCase(const Case& which, const CaseSettings& settings);

// A failure that was declared becomes "excepted"; a declared case that passes becomes a failure.
void ApplyExceptions(const std::map<std::string, std::string>& exceptions, CaseResult* result);

// OK when an ordinary host would open and create the plugin; asked in a process of its own.
Status WouldLoad(const CaseSettings& settings);

// The child's side: `tenon-conform --one-case ...`.
inline constexpr char kOneCase[] = "--one-case";
int RunOneCase(int argc, char** argv);

}  // namespace tenon::conform
