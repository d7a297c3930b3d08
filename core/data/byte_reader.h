#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "core/base/status.h"

namespace tenon {

// Reads a file from front to back; gzip files (several members too) are unpacked on the way and their checksums
// checked. Whether a file is packed is seen from its first bytes; a name that ends in .gz must keep its word.
// Errors carry the file's path as their location. For one thread.
class ByteReader {
 public:
  static Result<ByteReader> Open(const std::string& path);
  // The same for bytes in memory, which the caller keeps alive; `name` stands for the path in errors.
  static Result<ByteReader> FromMemory(std::string name, std::span<const std::byte> data);

  ByteReader(ByteReader&&) noexcept;
  ByteReader& operator=(ByteReader&&) noexcept;
  ~ByteReader();

  // Reads `bytes` bytes; fewer only at the end of the file.
  Result<std::int64_t> Read(void* out, std::int64_t bytes);
  // Reads all of `bytes` or fails; `what` names the part that is cut short: "the header".
  Status ReadExactly(void* out, std::int64_t bytes, std::string_view what);
  // Fails when bytes are left.
  Status ExpectEnd();

  const std::string& path() const;
  bool packed() const;
  std::int64_t position() const;  // in the unpacked data
  // No more than so many unpacked bytes can follow: the rest of a plain file; for a packed one what the format can
  // make of the file's size. For checking sizes that a header claims before memory is taken.
  std::int64_t bound() const;

 private:
  struct Impl;
  explicit ByteReader(std::unique_ptr<Impl> impl);
  static Result<ByteReader> Start(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tenon
