#include "core/config/scalar.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>

namespace tenon {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

std::string Lowered(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

// A decimal number taken apart: sign, digits before and after the point, exponent.
struct Decimal {
  bool negative = false;
  std::string whole;
  std::string fraction;
  std::string exponent;    // with its sign; empty when there is none
  std::size_t length = 0;  // characters used
  bool has_point = false;
};

std::size_t CountDigits(std::string_view text) {
  std::size_t n = 0;
  while (n < text.size() && IsDigit(text[n])) ++n;
  return n;
}

// The longest decimal number at the start of `text`; nothing when no digit is there.
std::optional<Decimal> TakeDecimal(std::string_view text) {
  Decimal number;
  std::size_t at = 0;
  if (at < text.size() && (text[at] == '+' || text[at] == '-')) number.negative = text[at++] == '-';
  const std::size_t whole = CountDigits(text.substr(at));
  number.whole = text.substr(at, whole);
  at += whole;
  if (at < text.size() && text[at] == '.') {
    const std::size_t fraction = CountDigits(text.substr(at + 1));
    if (whole + fraction == 0) return std::nullopt;
    number.has_point = true;
    number.fraction = text.substr(at + 1, fraction);
    at += 1 + fraction;
  }
  if (number.whole.empty() && number.fraction.empty()) return std::nullopt;
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    std::size_t digits_at = at + 1;
    if (digits_at < text.size() && (text[digits_at] == '+' || text[digits_at] == '-')) ++digits_at;
    const std::size_t digits = CountDigits(text.substr(digits_at));
    if (digits > 0) {
      number.exponent = text.substr(at + 1, digits_at + digits - at - 1);
      at = digits_at + digits;
    }
  }
  number.length = at;
  return number;
}

bool HasLeadingZero(const Decimal& number) { return number.whole.size() > 1 && number.whole[0] == '0'; }

// A decimal number that is the whole text and has one meaning.
std::optional<Decimal> ParseDecimal(std::string_view text) {
  auto number = TakeDecimal(text);
  if (!number || number->length != text.size() || HasLeadingZero(*number)) return std::nullopt;
  return number;
}

bool IsInfinite(std::string_view text) {
  if (!text.empty() && (text[0] == '+' || text[0] == '-')) text.remove_prefix(1);
  return text == ".inf" || text == ".Inf" || text == ".INF";
}

bool IsNan(std::string_view text) { return text == ".nan" || text == ".NaN" || text == ".NAN"; }

// `digits` of the given base as a number, or nothing when one does not fit the base or 64 bits.
std::optional<std::int64_t> InBase(std::string_view digits, int base) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return value;
}

// For text that looks like a number with a prefix or with leading zeros: what it may mean and what to write.
std::string AmbiguityOf(std::string_view text) {
  std::string_view sign = text.substr(0, !text.empty() && (text[0] == '+' || text[0] == '-') ? 1 : 0);
  std::string_view rest = text.substr(sign.size());
  const std::string minus = sign == "-" ? "-" : "";
  if (rest.size() > 2 && rest[0] == '0' && std::isalpha(static_cast<unsigned char>(rest[1])) != 0) {
    const char letter = static_cast<char>(std::tolower(static_cast<unsigned char>(rest[1])));
    const int base = letter == 'x' ? 16 : letter == 'o' ? 8 : letter == 'b' ? 2 : 0;
    if (base == 0) return "";
    const auto value = InBase(rest.substr(2), base);
    if (!value || rest[2] == '-') return "";
    const char* name = base == 16 ? "hexadecimal" : base == 8 ? "octal" : "binary";
    return fmt::format("'{}' means {}{} ({}) to some readers and text to others. Write {}{}.", text, minus, *value,
                       name, minus, *value);
  }
  const auto number = TakeDecimal(text);
  if (!number || number->length != text.size() || !HasLeadingZero(*number)) return "";
  std::string shorter(rest);
  shorter.erase(0, std::min(number->whole.find_first_not_of('0'), number->whole.size() - 1));
  const bool digits_only = !number->has_point && number->exponent.empty();
  const auto octal = digits_only ? InBase(number->whole, 8) : std::nullopt;
  if (octal && std::to_string(*octal) != shorter) {
    return fmt::format("'{}' means {}{} (octal) to some readers and {}{} to others. Write {}{} or {}{}.", text, minus,
                       *octal, minus, shorter, minus, *octal, minus, shorter);
  }
  return fmt::format("'{}' means {}{} to some readers and text to others. Write {}{}.", text, minus, shorter, minus,
                     shorter);
}

// What keeps `text` from being a number, with the cure; empty when there is nothing to say.
std::string NumberAdvice(std::string_view text) {
  std::string without;
  std::copy_if(text.begin(), text.end(), std::back_inserter(without), [](char c) { return c != ',' && c != '_'; });
  if (without.size() != text.size() && !text.empty() && (IsDigit(text[0]) || text[0] == '-' || text[0] == '+') &&
      ParseDecimal(without)) {
    return fmt::format(" Write {}.", without);
  }
  const std::string low = Lowered(text);
  if (low == "inf" || low == "+inf" || low == "infinity") return " Infinity is written .inf.";
  if (low == "-inf" || low == "-infinity") return " Infinity is written -.inf.";
  if (low == "nan") return " It is written .nan.";
  const auto number = TakeDecimal(text);
  if (number && number->length < text.size()) {
    return fmt::format(" '{}' after '{}' is not part of a number.", Shortened(text.substr(number->length)),
                       text.substr(0, number->length));
  }
  return "";
}

// Shared refusals of integer and number fields: everything that is not an unquoted scalar with one meaning.
bool RefusedAsNumber(const ConfigNode& node, std::string_view needed, std::string& complaint) {
  if (!node.is_scalar()) {
    complaint = node.is_null() ? fmt::format("needs {}, but has no value.", needed)
                               : fmt::format("needs {}, but is {}.", needed, node.Describe());
    return true;
  }
  const std::string& text = node.text();
  if (node.style() == ScalarStyle::kQuoted) {
    complaint = IsNumberText(text)
                    ? fmt::format("needs {}, but '{}' in quotes is text. Remove the quotes.", needed, Shortened(text))
                    : fmt::format("needs {}, but is {}.", needed, node.Describe());
    return true;
  }
  if (const std::string ambiguity = AmbiguityOf(text); !ambiguity.empty()) {
    complaint = fmt::format("needs {}, but {}", needed, ambiguity);
    return true;
  }
  if (!IsNumberText(text)) {
    complaint = fmt::format("needs {}, but is {}.{}", needed, node.Describe(), NumberAdvice(text));
    return true;
  }
  return false;
}

// The exponent as a number, held within +-10^6, beyond which every non-zero value is out of any range here.
long ClampedExponent(const std::string& text) {
  if (text.empty()) return 0;
  const bool negative = text[0] == '-';
  long value = 0;
  for (const char c : text) {
    if (IsDigit(c)) value = std::min(1000000L, value * 10 + (c - '0'));
  }
  return negative ? -value : value;
}

enum class Whole { kYes, kFraction, kTooLarge };

// The digits of a decimal number's value when it is whole, without leading zeros.
Whole WholeDigits(const Decimal& number, std::string& digits) {
  digits = number.whole + number.fraction;
  long shift = ClampedExponent(number.exponent) - static_cast<long>(number.fraction.size());
  while (digits.size() > 1 && digits.back() == '0' && shift < 0) {
    digits.pop_back();
    ++shift;
  }
  digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size()));
  if (digits.empty()) {
    digits = "0";
    return Whole::kYes;
  }
  if (shift < 0) return Whole::kFraction;
  if (static_cast<long>(digits.size()) + shift > 19) return Whole::kTooLarge;
  digits.append(static_cast<std::size_t>(shift), '0');
  return Whole::kYes;
}

}  // namespace

bool IsNullText(std::string_view text) {
  return text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL";
}

bool IsBoolText(std::string_view text) {
  return text == "true" || text == "True" || text == "TRUE" || text == "false" || text == "False" || text == "FALSE";
}

bool IsNumberText(std::string_view text) { return IsInfinite(text) || IsNan(text) || ParseDecimal(text).has_value(); }

std::string Shortened(std::string_view text) {
  constexpr std::size_t kLimit = 60;
  std::size_t end = std::min(text.size(), kLimit);
  while (end > 0 && end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  std::string out(text.substr(0, end));
  for (char& c : out) {
    if (static_cast<unsigned char>(c) < 0x20) c = ' ';
  }
  if (end < text.size()) out += "...";
  return out;
}

std::optional<bool> ReadBool(const ConfigNode& node, std::string& complaint) {
  constexpr std::string_view kNeeds = "needs true or false";
  if (node.is_null()) {
    complaint = fmt::format("{}, but has no value.", kNeeds);
    return std::nullopt;
  }
  if (node.is_scalar() && IsBoolText(node.text())) {
    if (node.style() != ScalarStyle::kQuoted) return Lowered(node.text()) == "true";
    complaint = fmt::format("{}, but '{}' in quotes is text. Remove the quotes.", kNeeds, node.text());
    return std::nullopt;
  }
  complaint = fmt::format("{}, but is {}.", kNeeds, node.Describe());
  if (!node.is_scalar()) return std::nullopt;
  const std::string word = Lowered(node.text());
  const bool like_true = word == "yes" || word == "on" || word == "y" || word == "1" || word == "true";
  const bool like_false = word == "no" || word == "off" || word == "n" || word == "0" || word == "false";
  if (like_true || like_false) {
    complaint += fmt::format(" Only true and false are booleans (YAML 1.2). Write {}.", like_true ? "true" : "false");
  }
  return std::nullopt;
}

std::optional<std::int64_t> ReadInteger(const ConfigNode& node, std::string& complaint) {
  constexpr std::string_view kNeeded = "an integer";
  if (RefusedAsNumber(node, kNeeded, complaint)) return std::nullopt;
  const auto number = ParseDecimal(node.text());
  std::string digits;
  const Whole whole = number ? WholeDigits(*number, digits) : Whole::kFraction;
  if (whole == Whole::kFraction) {
    complaint = fmt::format("needs {}, but is {}.", kNeeded, node.Describe());
    return std::nullopt;
  }
  if (number->negative) digits.insert(0, 1, '-');
  std::int64_t value = 0;
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (whole == Whole::kTooLarge || parsed.ec != std::errc()) {
    complaint = fmt::format("needs {} of 64 bits, but {} is beyond {} to {}.", kNeeded, Shortened(node.text()),
                            std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max());
    return std::nullopt;
  }
  return value;
}

std::optional<double> ReadNumber(const ConfigNode& node, bool infinite_allowed, std::string& complaint) {
  if (RefusedAsNumber(node, "a number", complaint)) return std::nullopt;
  std::string_view text = node.text();
  if (IsInfinite(text) || IsNan(text)) {
    if (!infinite_allowed) {
      complaint = fmt::format("needs a finite number, but is {}.", text);
      return std::nullopt;
    }
    if (IsNan(text)) return std::numeric_limits<double>::quiet_NaN();
    return text[0] == '-' ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
  }
  if (text[0] == '+') text.remove_prefix(1);
  double value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (parsed.ec == std::errc() && std::isfinite(value)) return value;
  const auto number = ParseDecimal(node.text());
  std::string digits = number->whole + number->fraction;
  if (digits.find_first_not_of('0') == std::string::npos) return 0.0;
  const long magnitude = ClampedExponent(number->exponent) + static_cast<long>(number->whole.size());
  complaint = fmt::format("needs a number of 64 bits, but {} is too {} for one.", Shortened(node.text()),
                          magnitude > 0 ? "large" : "close to zero");
  return std::nullopt;
}

std::optional<std::string> ReadText(const ConfigNode& node, std::string& complaint) {
  if (node.is_scalar()) return node.text();
  complaint = node.is_null() ? std::string("needs text, but has no value. Empty text is written ''.")
                             : fmt::format("needs text, but is {}.", node.Describe());
  return std::nullopt;
}

ConfigNode TextNode(std::string text) {
  const bool ambiguous = IsNullText(text) || IsBoolText(text) || IsNumberText(text);
  return ConfigNode::Scalar(std::move(text), ambiguous ? ScalarStyle::kQuoted : ScalarStyle::kPlain);
}

bool ReadsAsNothing(const ConfigNode& node) {
  if (node.is_null()) return true;
  return node.is_scalar() && node.style() == ScalarStyle::kExpanded && !node.text().empty() && IsNullText(node.text());
}

std::string NumberToText(double value) {
  if (std::isnan(value)) return ".nan";
  if (std::isinf(value)) return value < 0 ? "-.inf" : ".inf";
  return fmt::format("{}", value);
}

}  // namespace tenon
