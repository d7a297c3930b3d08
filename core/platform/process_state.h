#pragma once

#include <string>
#include <vector>

namespace tenon {

// Things of the whole process that foreign code may change when it is loaded: signal handlers, floating-point modes,
// locale, current folder, number of threads.
struct ProcessState {
  std::vector<const void*> signal_handlers;  // by signal number
  unsigned float_mode = 0;                   // rounding and flush-to-zero bits of this thread
  std::string locale;
  std::string folder;  // current folder
  int threads = 0;
};

ProcessState CaptureProcessState();

// What differs, as clauses: "it installed a handler for SIGSEGV (...)", "it changed the locale from 'C' to 'de_DE'".
// New threads are reported only when `threads_too`.
std::vector<std::string> DescribeChanges(const ProcessState& before, const ProcessState& after, bool threads_too);

}  // namespace tenon
