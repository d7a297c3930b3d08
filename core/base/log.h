#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/status.h"

namespace tenon {

// Levels and numbers as users of GLOG_v know them: 0 debug, 1 info, 2 warning, 3 error, 4 critical.
enum class LogLevel : int { kDebug = 0, kInfo = 1, kWarning = 2, kError = 3, kCritical = 4 };

// "debug" .. "critical", or an error that lists the names.
Result<LogLevel> ParseLogLevel(std::string_view text);

// Settings of the process-wide logger; the environment variables of the known tools (GLOG_v, GLOG_logtostderr,
// GLOG_log_dir, GLOG_stderrthreshold, GLOG_max_log_size, logger_backupCount, MS_SUBMODULE_LOG_v) win over them.
struct LogOptions {
  LogLevel level = LogLevel::kWarning;  // lowest level shown on standard error
  std::string file;                     // additional plain log file (log.txt of a run); empty = none
  LogLevel file_level = LogLevel::kInfo;
};

// Reads the environment, applies `options`. May be called again (a run sets its own file). Not thread-safe against
// concurrent Log calls of other threads at the first call; call from main.
Status ConfigureLog(const LogOptions& options);

// True when a message of `component` at `level` would be written anywhere. Any thread, no lock.
bool LogEnabled(LogLevel level, std::string_view component);

// Where a message comes from; shown in files only.
struct LogPlace {
  const char* file = nullptr;  // must outlive the program, as __FILE__ does
  int line = 0;
  const char* function = nullptr;
};

// Writes one message. A message that repeats (same component, level and text) is counted and reported once as
// "(repeated N times)" by FlushLog or when another message follows. Warnings and errors are also counted when other
// messages come between. Any thread.
void Log(LogLevel level, std::string_view component, std::string_view text, const LogPlace& place = {});

// Writes pending repeat counts and flushes files.
void FlushLog();

// `hook` runs before each line on standard error, so that a line which is drawn over can be erased first; null: none.
void SetBeforeScreenLine(void (*hook)());

// TENON_LOG(kInfo, "plugin", "loaded {}", id): formats only when enabled.
#define TENON_LOG(level, component, ...)                                          \
  do {                                                                            \
    if (::tenon::LogEnabled(::tenon::LogLevel::level, component))                 \
      ::tenon::Log(::tenon::LogLevel::level, component, fmt::format(__VA_ARGS__), \
                   ::tenon::LogPlace{__FILE__, __LINE__, __func__});              \
  } while (0)

}  // namespace tenon
