#include "core/platform/folder_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

namespace tenon {
namespace {

// Another owner may have renamed the folder between its opening and its lock.
bool IsStillAt(int descriptor, const std::string& folder) {
  struct stat held = {}, there = {};
  return fstat(descriptor, &held) == 0 && stat(folder.c_str(), &there) == 0 && held.st_ino == there.st_ino &&
         held.st_dev == there.st_dev;
}

// " (process 1234)" of who holds the lock, as the system's table of locks has it; empty where it does not tell.
// A row: "1: FLOCK ADVISORY WRITE 1234 fe:00:5800806 0 EOF", devices in hexadecimal.
std::string HolderOf(int descriptor) {
  struct stat held = {};
  if (fstat(descriptor, &held) != 0) return "";
  const std::string wanted = fmt::format("{:02x}:{:02x}:{}", major(held.st_dev), minor(held.st_dev), held.st_ino);
  std::ifstream table("/proc/locks");
  std::string row;
  while (std::getline(table, row)) {
    std::istringstream words(row);
    std::string number, kind, advisory, access, process, file;
    words >> number >> kind >> advisory >> access >> process >> file;
    if (kind == "FLOCK" && file == wanted && process != "0") return fmt::format(" (process {})", process);
  }
  return "";
}

}  // namespace

Result<FolderLock> FolderLock::Take(const std::string& folder) {
  const int descriptor = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0)
    return Error(Code::kPermissionDenied, "The folder '{}' cannot be opened: {}.", folder, std::strerror(errno));
  FolderLock lock(descriptor);
  if (flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK)
      return Error(Code::kAlreadyExists, "The folder '{}' is in use: another run{} that has not ended writes into it.",
                   folder, HolderOf(descriptor));
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
