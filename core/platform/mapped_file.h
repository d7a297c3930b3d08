#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "core/base/status.h"

namespace tenon {

// A whole file seen as read-only memory, paged in when touched. Copies share the mapping. It stays valid when the file
// is replaced by renaming another one over it.
class MappedFile {
 public:
  // Errors name the path and the cause. A folder is an error; a file of 0 bytes is not.
  static Result<MappedFile> Open(const std::string& path);

  std::span<const std::uint8_t> bytes() const { return {static_cast<const std::uint8_t*>(memory_.get()), size_}; }

 private:
  std::shared_ptr<void> memory_;
  std::size_t size_ = 0;
};

}  // namespace tenon
