#include "core/platform/file_identity.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

namespace tenon {

namespace {

FileIdentity ToIdentity(const struct stat& info) {
  return {static_cast<std::uint64_t>(info.st_dev), static_cast<std::uint64_t>(info.st_ino)};
}

Code CodeOfErrno(int number) {
  switch (number) {
    case ENOENT:
    case ENOTDIR:
      return Code::kNotFound;
    case EACCES:
    case EPERM:
      return Code::kPermissionDenied;
    default:
      return Code::kInvalidArgument;
  }
}

}  // namespace

OpenedFile::OpenedFile(OpenedFile&& other) noexcept { *this = std::move(other); }

OpenedFile& OpenedFile::operator=(OpenedFile&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  identity_ = other.identity_;
  bytes_ = other.bytes_;
  owner_ = other.owner_;
  group_ = other.group_;
  mode_ = other.mode_;
  return *this;
}

OpenedFile::~OpenedFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Result<OpenedFile> OpenedFile::Open(const std::string& path) {
  OpenedFile file;
  // O_NONBLOCK: opening a pipe by mistake must not wait for a writer.
  file.descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file.descriptor_ < 0) return Status(CodeOfErrno(errno), std::strerror(errno));
  struct stat info {};
  if (::fstat(file.descriptor_, &info) != 0) return Status(CodeOfErrno(errno), std::strerror(errno));
  if (!S_ISREG(info.st_mode)) {
    return InvalidArgument("it is {}, not a regular file",
                           S_ISDIR(info.st_mode) ? "a folder" : "a device, pipe or socket");
  }
  file.identity_ = ToIdentity(info);
  file.bytes_ = static_cast<std::uint64_t>(info.st_size);
  file.owner_ = info.st_uid;
  file.group_ = info.st_gid;
  file.mode_ = info.st_mode & 07777U;
  return file;
}

Result<FileIdentity> IdentityOf(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return Status(CodeOfErrno(errno), std::strerror(errno));
  return ToIdentity(info);
}

Result<std::string> RealPath(const std::string& path) {
  char* resolved = ::realpath(path.c_str(), nullptr);
  if (resolved == nullptr) return Status(CodeOfErrno(errno), std::strerror(errno));
  std::string text = resolved;
  std::free(resolved);
  return text;
}

std::string AbsolutePath(const std::string& path, const std::string& folder) {
  std::filesystem::path full =
      std::filesystem::path(path).is_absolute() ? std::filesystem::path(path) : std::filesystem::path(folder) / path;
  if (!full.is_absolute()) full = std::filesystem::path(CurrentFolder()) / full;
  std::string text = full.lexically_normal().string();
  while (text.size() > 1 && text.back() == '/') text.pop_back();
  return text;
}

std::string CurrentFolder() {
  std::error_code error;
  const std::filesystem::path path = std::filesystem::current_path(error);
  return error ? std::string("/") : path.string();
}

std::string ParentFolder(const std::string& path) {
  const std::string parent = std::filesystem::path(path).parent_path().string();
  return parent.empty() ? "." : parent;
}

std::string FileName(const std::string& path) { return std::filesystem::path(path).filename().string(); }

bool IsFolder(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

bool FileExists(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0;
}

Result<std::vector<std::string>> ListFolder(const std::string& path) {
  DIR* folder = ::opendir(path.c_str());
  if (folder == nullptr) return Status(CodeOfErrno(errno), std::strerror(errno));
  std::vector<std::string> names;
  while (const dirent* entry = ::readdir(folder)) {
    const std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(name);
  }
  ::closedir(folder);
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace tenon
