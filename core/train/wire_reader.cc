#include "core/train/wire_reader.h"

namespace tenon {
namespace {

enum WireType : std::uint64_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

}  // namespace

Result<std::uint64_t> WireReader::Varint() {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    if (done()) return Error(Code::kDataLoss, "The file ends inside a number at byte {}.", offset());
    const std::uint64_t byte = message_[at_++];
    if (shift == 63 && byte > 1) break;
    value |= (byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
  return Error(Code::kDataLoss, "The number that ends at byte {} has more than 64 bits.", offset());
}

Result<std::uint64_t> WireReader::Fixed(std::size_t bytes) {
  if (message_.size() - at_ < bytes)
    return Error(Code::kDataLoss, "The file ends inside a number at byte {}.", offset());
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < bytes; ++i) value |= static_cast<std::uint64_t>(message_[at_ + i]) << (8 * i);
  at_ += bytes;
  return value;
}

Result<WireField> WireReader::Next() {
  const std::int64_t start = offset();
  TENON_ASSIGN(const std::uint64_t key, Varint());
  WireField field;
  field.number = key >> 3;
  if (field.number == 0) return Error(Code::kDataLoss, "A field with number 0 is at byte {}.", start);
  switch (key & 7) {
    case kVarint: {
      TENON_ASSIGN(field.value, Varint());
      return field;
    }
    case kFixed64: {
      TENON_ASSIGN(field.value, Fixed(8));
      return field;
    }
    case kFixed32: {
      TENON_ASSIGN(field.value, Fixed(4));
      return field;
    }
    case kBytes: {
      TENON_ASSIGN(const std::uint64_t length, Varint());
      const std::size_t left = message_.size() - at_;
      if (length > left) {
        return Error(Code::kDataLoss, "A field of {} bytes begins at byte {}, where only {} bytes are left.", length,
                     offset(), left);
      }
      field.is_bytes = true;
      field.bytes = message_.subspan(at_, static_cast<std::size_t>(length));
      at_ += static_cast<std::size_t>(length);
      return field;
    }
    default:
      return Error(Code::kDataLoss, "A field of the unknown kind {} is at byte {}.", key & 7, start);
  }
}

void AppendVarint(std::string* out, std::uint64_t value) {
  while (value >= 0x80) {
    out->push_back(static_cast<char>(value | 0x80));
    value >>= 7;
  }
  out->push_back(static_cast<char>(value));
}

void AppendFieldHead(std::string* out, std::uint32_t number, std::uint64_t length) {
  AppendVarint(out, (std::uint64_t{number} << 3) | kBytes);
  AppendVarint(out, length);
}

}  // namespace tenon
