#include "tools/msopgen/names.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <iterator>

namespace tenon::msopgen {
namespace {

constexpr std::size_t kLongest = 64;

// Sorted.
constexpr std::string_view kKeywords[] = {
    "alignas",     "alignof",  "and",        "and_eq",    "asm",       "auto",         "bitand",
    "bitor",       "bool",     "break",      "case",      "catch",     "char",         "char16_t",
    "char32_t",    "char8_t",  "class",      "co_await",  "co_return", "co_yield",     "compl",
    "concept",     "const",    "const_cast", "consteval", "constexpr", "constinit",    "continue",
    "decltype",    "default",  "delete",     "do",        "double",    "dynamic_cast", "else",
    "enum",        "explicit", "export",     "extern",    "false",     "float",        "for",
    "friend",      "goto",     "if",         "inline",    "int",       "long",         "mutable",
    "namespace",   "new",      "noexcept",   "not",       "not_eq",    "nullptr",      "operator",
    "or",          "or_eq",    "private",    "protected", "public",    "register",     "reinterpret_cast",
    "requires",    "return",   "short",      "signed",    "sizeof",    "static",       "static_assert",
    "static_cast", "struct",   "switch",     "template",  "this",      "thread_local", "throw",
    "true",        "try",      "typedef",    "typeid",    "typename",  "union",        "unsigned",
    "using",       "virtual",  "void",       "volatile",  "wchar_t",   "while",        "xor",
    "xor_eq"};
// Macros of the C library that would eat a name.
constexpr std::string_view kMacros[] = {"assert", "errno", "stderr", "stdin", "stdout"};
// What the generated structs call the types of their members.
constexpr std::string_view kOfTypes[] = {"int64_t", "std", "support"};

bool IsUpper(char c) { return c >= 'A' && c <= 'Z'; }
bool IsLower(char c) { return c >= 'a' && c <= 'z'; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsWordCharacter(char c) { return IsUpper(c) || IsLower(c) || IsDigit(c) || c == '_'; }

std::string WhyNoWord(std::string_view kind, std::string_view name) {
  if (name.empty()) return fmt::format("The name of {} is empty.", kind);
  if (name.size() > kLongest)
    return fmt::format("The name '{}...' has {} characters; a name has at most {}.", name.substr(0, 20), name.size(),
                       kLongest);
  if (name.find('/') != std::string_view::npos || name.find('\\') != std::string_view::npos)
    return fmt::format("The name '{}' holds a path separator; it becomes part of file names.", name);
  if (!std::all_of(name.begin(), name.end(), IsWordCharacter))
    return fmt::format("The name '{}' is not made of the letters a to z, digits and '_' alone.", name);
  return "";
}

}  // namespace

bool IsCppKeyword(std::string_view word) {
  return std::binary_search(std::begin(kKeywords), std::end(kKeywords), word);
}

std::string SnakeCase(std::string_view name) {
  std::string snake;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    if (!IsUpper(c)) {
      snake += c;
      continue;
    }
    const bool after_word = i > 0 && (IsLower(name[i - 1]) || IsDigit(name[i - 1]));
    const bool starts_word = i > 0 && IsUpper(name[i - 1]) && i + 1 < name.size() && IsLower(name[i + 1]);
    if (after_word || starts_word) snake += '_';
    snake += static_cast<char>(c - 'A' + 'a');
  }
  return snake;
}

std::string WhyNoOperatorName(std::string_view name) {
  if (IsCppKeyword(name)) return fmt::format("The name '{}' is a word of C++.", name);
  std::string why = WhyNoWord("an operator", name);
  if (why.empty() && (!IsUpper(name[0]) || name.find('_') != std::string_view::npos))
    why = fmt::format("The name '{}' is not in UpperCamelCase: a capital first, then letters and digits.", name);
  return why;
}

std::string WhyNoParameterName(std::string_view name) {
  std::string why = WhyNoWord("a parameter", name);
  if (!why.empty()) return why;
  if (IsDigit(name[0])) return fmt::format("The name '{}' starts with a digit.", name);
  if (name[0] == '_' || name.back() == '_' || name.find("__") != std::string_view::npos)
    return fmt::format("The name '{}' starts or ends with '_' or holds '__'; C++ keeps such names for itself.", name);
  const std::string field = SnakeCase(name);
  const std::string as = field == name ? "" : fmt::format(" (as '{}')", field);
  if (IsCppKeyword(field)) return fmt::format("The name '{}'{} is a word of C++.", name, as);
  if (std::find(std::begin(kMacros), std::end(kMacros), field) != std::end(kMacros))
    return fmt::format("The name '{}'{} is a macro of the C library.", name, as);
  if (std::find(std::begin(kOfTypes), std::end(kOfTypes), field) != std::end(kOfTypes))
    return fmt::format("The name '{}'{} stands for a type or a namespace in the generated code.", name, as);
  return "";
}

std::string WhyNoDomain(std::string_view domain) {
  const std::string rule = "a domain is words of a to z, digits and '_' with dots between, such as com.example";
  if (domain.size() > 100) return fmt::format("The domain has {} characters; at most 100 are possible.", domain.size());
  if (domain == "tenon" || domain.substr(0, 6) == "tenon.")
    return "The domain 'tenon' belongs to Tenon itself; " + rule + ".";
  bool start = true;
  for (const char c : domain) {
    const bool good = c == '.' ? !start : (IsLower(c) || c == '_' || (IsDigit(c) && !start));
    if (!good) return fmt::format("'{}' is no domain; {}.", domain, rule);
    start = c == '.';
  }
  return start ? fmt::format("'{}' is no domain; {}.", domain, rule) : "";
}

std::string WhyNoProjectName(std::string_view name) {
  std::string why = WhyNoWord("the project", name);
  if (why.empty() && !IsLower(name[0]))
    why = fmt::format("The project name '{}' does not start with a lower-case letter.", name);
  return why;
}

}  // namespace tenon::msopgen
