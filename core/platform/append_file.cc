#include "core/platform/append_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "core/platform/file_error.h"

namespace tenon {

Result<AppendFile> AppendFile::Open(const std::string& path, bool truncate) {
  TurnFileSizeSignalIntoError();
  AppendFile file;
  file.path_ = path;
  file.descriptor_ = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | (truncate ? O_TRUNC : 0), 0666);
  if (file.descriptor_ < 0) return FileError("Writing", path, errno);
  return file;
}

AppendFile::AppendFile(AppendFile&& other) noexcept { *this = std::move(other); }

AppendFile& AppendFile::operator=(AppendFile&& other) noexcept {
  if (this == &other) return *this;
  if (descriptor_ >= 0) close(descriptor_);
  path_ = std::move(other.path_);
  descriptor_ = std::exchange(other.descriptor_, -1);
  return *this;
}

AppendFile::~AppendFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

Status AppendFile::Append(std::string_view record) {
  if (descriptor_ < 0) return {};
  while (!record.empty()) {
    const ssize_t written = write(descriptor_, record.data(), record.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return FileError("Writing", path_, errno);
    record.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

}  // namespace tenon
