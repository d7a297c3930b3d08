#include "core/data/utf8.h"

#include <fmt/format.h>

namespace tenon {

std::optional<std::uint32_t> NextCodePoint(std::span<const unsigned char> text, std::size_t& at) {
  const unsigned char lead = text[at];
  if (lead < 0x80) {
    ++at;
    return lead;
  }
  const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || at + length > text.size()) return std::nullopt;
  std::uint32_t value = lead & (0x7fu >> length);
  for (std::size_t i = 1; i < length; ++i) {
    const unsigned char next = text[at + i];
    if ((next & 0xc0) != 0x80) return std::nullopt;
    value = (value << 6) | (next & 0x3fu);
  }
  constexpr std::uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  if (value < kLeast[length] || value > 0x10ffff || (value >= 0xd800 && value <= 0xdfff)) return std::nullopt;
  at += length;
  return value;
}

std::string DescribeCodePoint(std::uint32_t code_point) {
  if (code_point < 0x20 || code_point == 0x7f) return fmt::format("U+{:04X}", code_point);
  std::string text;
  const auto tail = [&](int shift) { text += static_cast<char>(0x80 | ((code_point >> shift) & 0x3f)); };
  if (code_point < 0x80) {
    text += static_cast<char>(code_point);
  } else if (code_point < 0x800) {
    text += static_cast<char>(0xc0 | (code_point >> 6));
    tail(0);
  } else if (code_point < 0x10000) {
    text += static_cast<char>(0xe0 | (code_point >> 12));
    tail(6);
    tail(0);
  } else {
    text += static_cast<char>(0xf0 | (code_point >> 18));
    tail(12);
    tail(6);
    tail(0);
  }
  return fmt::format("'{}' (U+{:04X})", text, code_point);
}

}  // namespace tenon
