#pragma once

#include <string>
#include <utility>

#include "core/base/status.h"

namespace tenon {

// Holds a folder for one owner; given back by the destructor, or by the system when the process ends.
class FolderLock {
 public:
  FolderLock() = default;
  // ALREADY_EXISTS when somebody else holds the folder.
  static Result<FolderLock> Take(const std::string& folder);
  ~FolderLock();
  FolderLock(FolderLock&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  FolderLock& operator=(FolderLock&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }

 private:
  explicit FolderLock(int descriptor) : descriptor_(descriptor) {}
  int descriptor_ = -1;
};

}  // namespace tenon
