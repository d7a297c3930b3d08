#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace tenon {

// The whole of `text` as a decimal number: "-12", for a floating-point type also "0.5" and "1e-3". Nothing for any other
// text, spaces and '+' included, and for a number that the type does not hold.
template <class Number>
std::optional<Number> ParseNumber(std::string_view text) {
  Number number{};
  const char* last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, number);
  if (error != std::errc() || end != last) return std::nullopt;
  return number;
}

}  // namespace tenon
