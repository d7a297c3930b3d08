#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/status.h"

namespace tenon {

// Which file a path leads to, whatever the path is called.
struct FileIdentity {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  bool operator==(const FileIdentity&) const = default;
};

// A regular file opened for reading, with its identity taken from the open descriptor. Closes it.
class OpenedFile {
 public:
  OpenedFile() = default;
  OpenedFile(OpenedFile&& other) noexcept;
  OpenedFile& operator=(OpenedFile&& other) noexcept;
  ~OpenedFile();

  // NOT_FOUND, PERMISSION_DENIED or INVALID_ARGUMENT (not a regular file), with the system's reason in the message.
  static Result<OpenedFile> Open(const std::string& path);

  int descriptor() const { return descriptor_; }
  FileIdentity identity() const { return identity_; }
  std::uint64_t bytes() const { return bytes_; }
  std::uint32_t owner() const { return owner_; }
  std::uint32_t group() const { return group_; }
  std::uint32_t mode() const { return mode_; }

 private:
  int descriptor_ = -1;
  FileIdentity identity_;
  std::uint64_t bytes_ = 0;
  std::uint32_t owner_ = 0, group_ = 0, mode_ = 0;
};

// Identity of whatever the path leads to (symbolic links followed).
Result<FileIdentity> IdentityOf(const std::string& path);

// Absolute path without symbolic links, "." and "..".
Result<std::string> RealPath(const std::string& path);

// The path made absolute against `folder` and shortened as text ("a/./b/../c" -> "a/c"); links are not followed.
std::string AbsolutePath(const std::string& path, const std::string& folder);
std::string CurrentFolder();
std::string ParentFolder(const std::string& path);
std::string FileName(const std::string& path);
bool IsFolder(const std::string& path);
bool FileExists(const std::string& path);

// Names in a folder in byte order, without "." and ".."; no recursion.
Result<std::vector<std::string>> ListFolder(const std::string& path);

}  // namespace tenon
