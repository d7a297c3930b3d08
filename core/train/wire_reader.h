#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/base/status.h"

namespace tenon {

// One field of a protobuf message.
struct WireField {
  std::uint64_t number = 0;
  bool is_bytes = false;  // length-delimited: `bytes`; else `value`
  std::uint64_t value = 0;
  std::span<const std::uint8_t> bytes;  // points into the message

  std::string_view text() const { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }
};

// Walks over the fields of a protobuf message in memory, never beyond its end. `offset` is the place of the message in
// the file, for the text of errors.
class WireReader {
 public:
  WireReader(std::span<const std::uint8_t> message, std::int64_t offset) : message_(message), offset_(offset) {}

  bool done() const { return at_ == message_.size(); }
  // The next field; DATA_LOSS with the place when the bytes are no field.
  Result<WireField> Next();
  // A bare number, as in packed lists.
  Result<std::uint64_t> Varint();
  std::int64_t offset() const { return offset_ + static_cast<std::int64_t>(at_); }
  // Place of `bytes`, a part of this message.
  std::int64_t OffsetOf(std::span<const std::uint8_t> bytes) const {
    return offset_ + (bytes.data() - message_.data());
  }

 private:
  Result<std::uint64_t> Fixed(std::size_t bytes);

  std::span<const std::uint8_t> message_;
  std::int64_t offset_;
  std::size_t at_ = 0;
};

// Adds a base-128 number as protobuf writes it.
void AppendVarint(std::string* out, std::uint64_t value);
// Adds the head of a field: key and, for a length-delimited one, its length.
void AppendFieldHead(std::string* out, std::uint32_t number, std::uint64_t length);

}  // namespace tenon
