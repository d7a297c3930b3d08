#include "core/platform/atomic_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <filesystem>
#include <utility>

#include "core/platform/file_error.h"

namespace tenon {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{256} << 10;
constexpr std::size_t kWriteBytes = std::size_t{64} << 20;  // one system call
constexpr std::string_view kMark = ".tenon-";
constexpr std::string_view kEnd = ".tmp";

std::string FolderOf(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// ".<name>.tenon-<pid>-<number>.tmp" in the folder of `path`.
std::string TemporaryName(const std::string& path) {
  static std::atomic<unsigned> counter{0};
  const std::string name = path.substr(path.rfind('/') + 1);  // npos + 1 is 0
  return fmt::format("{}/.{}{}{}-{}{}", FolderOf(path), name, kMark, getpid(), counter++, kEnd);
}

// A writer holds a lock on its temporary file for as long as it lives. The lock is taken after the file is made, so a
// cleaner may have removed it in between: then `*gone` is set and the caller tries again.
int OpenLocked(const std::string& path, bool* gone) {
  const int descriptor = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor < 0) return -1;
  static_cast<void>(flock(descriptor, LOCK_EX | LOCK_NB));  // a file system without locks only loses the cleaning
  struct stat info = {};
  *gone = fstat(descriptor, &info) == 0 && info.st_nlink == 0;
  return descriptor;
}

bool RemoveIfAbandoned(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (descriptor < 0) return false;
  const bool abandoned = flock(descriptor, LOCK_EX | LOCK_NB) == 0;
  const bool removed = abandoned && unlink(path.c_str()) == 0;
  close(descriptor);
  return removed;
}

Status SyncFolder(const std::string& path) {
  const std::string folder = FolderOf(path);
  const int descriptor = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return FileError("Opening the folder", folder, errno);
  const int result = fsync(descriptor);
  const int error_number = errno;
  close(descriptor);
  // Some network file systems cannot sync a folder and say EINVAL.
  if (result != 0 && error_number != EINVAL) return FileError("Bringing to the disk the folder", folder, error_number);
  return {};
}

}  // namespace

bool IsTemporaryName(std::string_view name) {
  return name.starts_with('.') && name.ends_with(kEnd) && name.find(kMark) != std::string_view::npos;
}

int RemoveAbandonedTemporaries(const std::string& folder) {
  int removed = 0;
  std::error_code error;
  std::filesystem::directory_iterator entries(folder, error);
  for (const std::filesystem::directory_iterator end; !error && entries != end; entries.increment(error)) {
    if (IsTemporaryName(entries->path().filename().string()) && RemoveIfAbandoned(entries->path().string())) ++removed;
  }
  return removed;
}

Result<AtomicFile> AtomicFile::Create(const std::string& path) {
  TurnFileSizeSignalIntoError();
  struct stat info = {};
  if (stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode)) return FileError("Writing", path, EISDIR);
  RemoveAbandonedTemporaries(FolderOf(path));
  AtomicFile file;
  file.path_ = path;
  bool gone = true;
  while (gone) {
    file.temporary_ = TemporaryName(path);
    file.descriptor_ = OpenLocked(file.temporary_, &gone);
    if (file.descriptor_ < 0) return FileError("Writing", path, errno);
    if (gone) close(file.descriptor_);
  }
  return file;
}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept { *this = std::move(other); }

AtomicFile& AtomicFile::operator=(AtomicFile&& other) noexcept {
  if (this == &other) return *this;
  Discard();
  path_ = std::move(other.path_);
  temporary_ = std::move(other.temporary_);
  buffer_ = std::move(other.buffer_);
  bytes_ = other.bytes_;
  descriptor_ = std::exchange(other.descriptor_, -1);
  return *this;
}

AtomicFile::~AtomicFile() { Discard(); }

void AtomicFile::Discard() {
  if (descriptor_ < 0) return;
  unlink(temporary_.c_str());
  close(descriptor_);
  descriptor_ = -1;
}

Status AtomicFile::Append(const void* data, std::size_t bytes) {
  bytes_ += static_cast<std::int64_t>(bytes);
  if (buffer_.size() + bytes > kBufferBytes) TENON_TRY(Flush());
  if (bytes > kBufferBytes) return WriteOut(static_cast<const char*>(data), bytes);
  buffer_.append(static_cast<const char*>(data), bytes);
  return {};
}

Status AtomicFile::Flush() {
  TENON_TRY(WriteOut(buffer_.data(), buffer_.size()));
  buffer_.clear();
  return {};
}

Status AtomicFile::WriteOut(const char* data, std::size_t bytes) {
  if (descriptor_ < 0) return Error(Code::kFailedPrecondition, "'{}' was already completed or given up.", path_);
  while (bytes > 0) {
    const ssize_t written = write(descriptor_, data, std::min(bytes, kWriteBytes));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return FileError("Writing", path_, errno);
    data += written;
    bytes -= static_cast<std::size_t>(written);
  }
  return {};
}

Status AtomicFile::Commit() {
  TENON_TRY(Flush());
  if (fsync(descriptor_) != 0) return FileError("Writing", path_, errno);
  if (rename(temporary_.c_str(), path_.c_str()) != 0) return FileError("Renaming the finished file to", path_, errno);
  const int result = close(std::exchange(descriptor_, -1));
  if (result != 0) return FileError("Closing", path_, errno);
  return SyncFolder(path_);
}

Status WriteFileAtomically(const std::string& path, std::string_view text) {
  TENON_ASSIGN(AtomicFile file, AtomicFile::Create(path));
  TENON_TRY(file.Append(text));
  return file.Commit();
}

}  // namespace tenon
