#include "core/platform/process_state.h"

#include <fmt/format.h>

#include <clocale>
#include <csignal>
#include <cstring>

#include "core/platform/file_identity.h"
#include "core/platform/process.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace tenon {

namespace {

unsigned FloatMode() {
#if defined(__x86_64__)
  constexpr unsigned kStatusBits = 0x3f;  // exceptions that happened; not a mode
  return _mm_getcsr() & ~kStatusBits;
#else
  return 0;
#endif
}

}  // namespace

ProcessState CaptureProcessState() {
  ProcessState state;
  for (int number = 0; number < 32; ++number) {
    struct sigaction action {};
    const void* handler = nullptr;
    if (number > 0 && ::sigaction(number, nullptr, &action) == 0) {
      // One union member or the other; both are one pointer wide.
      static_assert(sizeof(action.sa_handler) == sizeof(handler));
      std::memcpy(&handler, &action.sa_handler, sizeof(handler));
    }
    state.signal_handlers.push_back(handler);
  }
  state.float_mode = FloatMode();
  const char* locale = std::setlocale(LC_ALL, nullptr);
  state.locale = locale == nullptr ? "" : locale;
  state.folder = CurrentFolder();
  const auto tasks = ListFolder("/proc/self/task");
  state.threads = tasks.ok() ? static_cast<int>(tasks->size()) : 0;
  return state;
}

std::vector<std::string> DescribeChanges(const ProcessState& before, const ProcessState& after, bool threads_too) {
  std::vector<std::string> changes;
  for (std::size_t number = 1; number < before.signal_handlers.size(); ++number) {
    if (before.signal_handlers[number] != after.signal_handlers[number]) {
      changes.push_back(fmt::format("it changed the handler of {}", SignalName(static_cast<int>(number))));
    }
  }
  if (before.float_mode != after.float_mode) {
    changes.push_back(fmt::format("it changed the floating-point mode of the thread from {:#x} to {:#x}",
                                  before.float_mode, after.float_mode));
  }
  if (before.locale != after.locale)
    changes.push_back(fmt::format("it changed the locale from '{}' to '{}'", before.locale, after.locale));
  if (before.folder != after.folder)
    changes.push_back(fmt::format("it changed the current folder to {}", after.folder));
  if (threads_too && after.threads > before.threads) {
    changes.push_back(fmt::format("it started {} {}", after.threads - before.threads,
                                  after.threads - before.threads == 1 ? "thread" : "threads"));
  }
  return changes;
}

}  // namespace tenon
