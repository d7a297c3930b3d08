#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "core/base/status.h"

namespace tenon {

// A file that appears under its name complete or not at all: it is written under a temporary name in the same folder,
// brought to the disk and renamed. A reader sees the former file or the new one, never a part, also when the process
// or the machine dies. One thread at a time.
//
//   TENON_ASSIGN(AtomicFile file, AtomicFile::Create(path));
//   TENON_TRY(file.Append(data, bytes));
//   TENON_TRY(file.Commit());
class AtomicFile {
 public:
  // Removes what dead writers left in the folder and opens a temporary file there. The folder must exist. Errors name
  // the path and the cause: NOT_FOUND, PERMISSION_DENIED, RESOURCE_EXHAUSTED.
  static Result<AtomicFile> Create(const std::string& path);

  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&& other) noexcept;
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  ~AtomicFile();  // without Commit: removes the temporary file, the former file stays

  // Small pieces are gathered, large ones are written without a copy. RESOURCE_EXHAUSTED when the disk is full.
  Status Append(const void* data, std::size_t bytes);
  Status Append(std::string_view text) { return Append(text.data(), text.size()); }

  // Writes the rest, waits for the disk and renames. Nothing may follow.
  Status Commit();

  std::int64_t bytes() const { return bytes_; }  // appended so far

 private:
  AtomicFile() = default;
  Status Flush();
  Status WriteOut(const char* data, std::size_t bytes);
  void Discard();

  std::string path_;
  std::string temporary_;
  std::string buffer_;
  std::int64_t bytes_ = 0;
  int descriptor_ = -1;
};

// Writes a whole small file through AtomicFile.
Status WriteFileAtomically(const std::string& path, std::string_view text);

// Removes temporary files whose writer is gone from `folder`; those of living writers stay. Returns how many were
// removed. A folder that cannot be read is left alone.
int RemoveAbandonedTemporaries(const std::string& folder);

// True for the name (without folder) of a temporary file of AtomicFile.
bool IsTemporaryName(std::string_view name);

}  // namespace tenon
