#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/config/node.h"

namespace tenon {

// Scalars by the rules of this project, which are YAML 1.2 without its traps:
//   booleans  true, false (also True, TRUE, False, FALSE)
//   numbers   decimal: 10, -3, +1e-4, 1.e-4, .5; no leading zeros, no 0x, no ',' or '_'
//   integers  any of these whose value is whole (1e1 is 10); exact in 64 bits
//   .inf, -.inf, .nan only where a field allows them
//   nothing   null, ~ or an empty value
// A number in quotes is text.

bool IsNullText(std::string_view text);
bool IsBoolText(std::string_view text);
// True for text that reads as a number: decimal, .inf or .nan.
bool IsNumberText(std::string_view text);

// Text for messages: at most 60 characters, control characters shown as spaces.
std::string Shortened(std::string_view text);

// Each returns the value, or nothing and in `complaint` the rest of a sentence that starts with the name of the field:
// "needs an integer, but is the number 2.5."
std::optional<bool> ReadBool(const ConfigNode& node, std::string& complaint);
std::optional<std::int64_t> ReadInteger(const ConfigNode& node, std::string& complaint);
std::optional<double> ReadNumber(const ConfigNode& node, bool infinite_allowed, std::string& complaint);
std::optional<std::string> ReadText(const ConfigNode& node, std::string& complaint);

// A scalar that every reader takes as text, in quotes where it would read as something else.
ConfigNode TextNode(std::string text);

// True when a field that may be absent is to be absent: null, also as the content of a placeholder.
bool ReadsAsNothing(const ConfigNode& node);

// The shortest text that reads back as the same number.
std::string NumberToText(double value);

}  // namespace tenon
