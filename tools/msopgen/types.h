#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tenon::msopgen {

// A type of elements, by the ending of its TENON_DTYPE_ constant: "F32", "BF16", "I64", "BOOL".
using Type = std::string;

bool IsFloating(const Type& type);
// As written in case files: "float32" for F32.
std::string CaseName(const Type& type);
// As Tenon names it: "f32".
std::string ShortName(const Type& type);

// What a word in a list of types means.
struct TypeWord {
  std::vector<Type> types;  // several for a group
  std::string group;        // its name when it is a group
  std::string left_out;     // members of the group that Tenon has no tensors of
  std::string format;       // the second half of a word such as F16_NCHW
};

// nullopt with a sentence in *why: not known, or known and without tensors in Tenon.
std::optional<TypeWord> ReadTypeWord(std::string_view word, std::string* why);

bool IsFormat(std::string_view word);
// The known format nearest to the word; may be empty.
std::string NearestFormat(std::string_view word);

}  // namespace tenon::msopgen
