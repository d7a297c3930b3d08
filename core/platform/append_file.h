#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "core/base/status.h"

namespace tenon {

// A file that grows by whole records, each with one system call, so that a reader or a sudden end sees at most the
// last record cut. One thread at a time. Append allocates nothing.
class AppendFile {
 public:
  // Opens or creates; `truncate` empties it. Errors name the path and the cause.
  static Result<AppendFile> Open(const std::string& path, bool truncate);

  AppendFile() = default;  // closed: Append does nothing
  AppendFile(AppendFile&& other) noexcept;
  AppendFile& operator=(AppendFile&& other) noexcept;
  AppendFile(const AppendFile&) = delete;
  AppendFile& operator=(const AppendFile&) = delete;
  ~AppendFile();

  Status Append(std::string_view record);
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  int descriptor_ = -1;
};

}  // namespace tenon
