#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/log.h"
#include "core/base/status.h"

namespace tenon {

// What the logger does after the environment was applied to LogOptions.
struct LogSettings {
  LogLevel level = LogLevel::kWarning;    // lowest level shown, for components without their own
  LogLevel file_level = LogLevel::kInfo;  // lowest level of `file`
  std::string file;                       // plain log file, or empty
  bool to_screen = true;                  // false: files below `folder`, the screen gets screen_threshold and above
  LogLevel screen_threshold = LogLevel::kWarning;
  std::string folder;                               // <GLOG_log_dir>/rank_<id>/logs
  std::int64_t max_bytes = std::int64_t{50} << 20;  // a level file is rotated beyond this size
  int backups = 30;                                 // rotated files kept for each level file
  unsigned mode = 0600;  // permissions of the active level file; closed files lose the write bits
  std::map<std::string, LogLevel, std::less<>> component_levels;  // beat `level`
  std::vector<std::string> warnings;                              // about ignored parts of MS_SUBMODULE_LOG_v
};

using EnvLookup = std::function<std::optional<std::string>(const char*)>;

// Applies the environment variables that `lookup` answers. A variable with a value that it cannot have is an error that
// names the variable, the value and what it takes.
Result<LogSettings> ReadLogSettings(const LogOptions& options, const EnvLookup& lookup);

// Levels of MS_SUBMODULE_LOG_v, `{NAME:LEVEL,NAME:LEVEL}`, added to `settings->component_levels`; what cannot be used is
// ignored and leaves a sentence in `settings->warnings`.
void ReadComponentLevels(std::string_view text, LogSettings* settings);

}  // namespace tenon
