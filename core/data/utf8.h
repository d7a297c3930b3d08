#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace tenon {

// Reads the code point that starts at `at` and moves `at` behind it. Nothing for bytes that are not UTF-8 (RFC 3629: no
// overlong forms, no surrogates, nothing above U+10FFFF, nothing cut short); `at` then stays at the first byte of them.
std::optional<std::uint32_t> NextCodePoint(std::span<const unsigned char> text, std::size_t& at);

// "'a' (U+0061)"; control characters by number alone.
std::string DescribeCodePoint(std::uint32_t code_point);

}  // namespace tenon
