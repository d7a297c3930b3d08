#include "core/platform/folder_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace tenon {
namespace {

// Another owner may have renamed the folder between its opening and its lock.
bool IsStillAt(int descriptor, const std::string& folder) {
  struct stat held = {}, there = {};
  return fstat(descriptor, &held) == 0 && stat(folder.c_str(), &there) == 0 && held.st_ino == there.st_ino &&
         held.st_dev == there.st_dev;
}

}  // namespace

Result<FolderLock> FolderLock::Take(const std::string& folder) {
  const int descriptor = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0)
    return Error(Code::kPermissionDenied, "The folder '{}' cannot be opened: {}.", folder, std::strerror(errno));
  FolderLock lock(descriptor);
  if (flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK)
      return Error(Code::kAlreadyExists, "The folder '{}' is in use: another run that has not ended writes into it.",
                   folder);
    return Error(Code::kUnknown, "The folder '{}' cannot be locked: {}.", folder, std::strerror(errno));
  }
  if (!IsStillAt(descriptor, folder))
    return Error(Code::kAlreadyExists, "The folder '{}' is in use: another run has just begun in it.", folder);
  return lock;
}

FolderLock::~FolderLock() {
  if (descriptor_ >= 0) close(descriptor_);
}

}  // namespace tenon
