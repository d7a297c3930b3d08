#include "tests/support/json.h"

#include <cstdio>
#include <cstdlib>
#include <stdexcept>

#include "support/numbers.h"

namespace testing {
namespace {

class Parser {
 public:
  explicit Parser(const std::string& text) : text_(text) {}

  Json Document() {
    Json value = Value(0);
    SkipSpace();
    if (at_ != text_.size()) Fail("text behind the end of the document");
    return value;
  }

 private:
  [[noreturn]] void Fail(const std::string& what) const {
    int line = 1, column = 1;
    for (size_t i = 0; i < at_ && i < text_.size(); ++i) {
      column = text_[i] == '\n' ? 1 : column + 1;
      line += text_[i] == '\n' ? 1 : 0;
    }
    throw std::runtime_error("line " + std::to_string(line) + ", column " + std::to_string(column) + ": " + what);
  }
  void SkipSpace() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r'))
      ++at_;
  }
  bool Take(char wanted) {
    SkipSpace();
    if (at_ >= text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }
  void Need(char wanted) {
    if (!Take(wanted)) Fail(std::string("a '") + wanted + "' is missing");
  }
  bool TakeWord(const char* word) {
    const std::string text(word);
    if (text_.compare(at_, text.size(), text) != 0) return false;
    at_ += text.size();
    return true;
  }

  Json Value(int depth) {
    if (depth > 100) Fail("too deep");
    SkipSpace();
    Json value;
    if (Take('{')) {
      value.kind = Json::Kind::kObject;
      if (Take('}')) return value;
      do {
        SkipSpace();
        std::string name = Text();
        Need(':');
        value.members.emplace_back(std::move(name), Value(depth + 1));
      } while (Take(','));
      Need('}');
      return value;
    }
    if (Take('[')) {
      value.kind = Json::Kind::kList;
      if (Take(']')) return value;
      do {
        value.items.push_back(Value(depth + 1));
      } while (Take(','));
      Need(']');
      return value;
    }
    if (at_ < text_.size() && text_[at_] == '"') {
      value.kind = Json::Kind::kText;
      value.text = Text();
      return value;
    }
    if (TakeWord("null")) return value;
    if (TakeWord("true") || TakeWord("false")) {
      value.kind = Json::Kind::kBool;
      value.truth = text_[at_ - 2] == 'u';
      return value;
    }
    char* end = nullptr;
    value.number = std::strtod(text_.c_str() + at_, &end);
    if (end == text_.c_str() + at_) Fail("no value");
    value.kind = Json::Kind::kNumber;
    value.whole = support::Convert<int64_t>(value.number);
    char* whole_end = nullptr;
    const long long whole = std::strtoll(text_.c_str() + at_, &whole_end, 10);
    if (whole_end == end) value.whole = whole;
    at_ = static_cast<size_t>(end - text_.c_str());
    return value;
  }

  std::string Text() {
    Need('"');
    std::string text;
    while (at_ < text_.size() && text_[at_] != '"') {
      if (text_[at_] != '\\') {
        text += text_[at_++];
        continue;
      }
      if (++at_ >= text_.size()) break;
      static const char kNames[] = "bfnrt", kMeant[] = "\b\f\n\r\t";
      const char name = text_[at_++];
      text += name;
      for (int i = 0; i < 5; ++i) {
        if (name == kNames[i]) text.back() = kMeant[i];
      }
      if (name == 'u') text.replace(text.size() - 1, 1, Character());
    }
    Need('"');
    return text;
  }

  // The four digits of \u, or of two in a row where one does not suffice.
  std::string Character() {
    const uint32_t code = HexWord();
    if (code < 0xd800 || code >= 0xdc00 || !TakeWord("\\u")) return Utf8(code);
    return Utf8(0x10000 + ((code & 0x3ff) << 10) + (HexWord() & 0x3ff));
  }
  uint32_t HexWord() {
    const std::string digits = text_.substr(at_, 4);
    if (digits.size() < 4 || digits.find_first_not_of("0123456789abcdefABCDEF") != std::string::npos)
      Fail("\\u needs four digits");
    at_ += 4;
    return static_cast<uint32_t>(std::stoul(digits, nullptr, 16));
  }
  static std::string Utf8(uint32_t code) {
    if (code < 0x80) return std::string(1, static_cast<char>(code));
    const int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    std::string text(1, static_cast<char>((0xff00 >> (more + 1) & 0xff) | code >> (6 * more)));
    for (int i = more - 1; i >= 0; --i) text += static_cast<char>(0x80 | (code >> (6 * i) & 0x3f));
    return text;
  }

  const std::string& text_;
  size_t at_ = 0;
};

}  // namespace

Json ParseJson(const std::string& text) { return Parser(text).Document(); }

std::string Quoted(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x20) {
      char code[8];
      std::snprintf(code, sizeof code, "\\u%04x", static_cast<unsigned>(c));
      quoted += code;
    } else {
      if (c == '"' || c == '\\') quoted += '\\';
      quoted += c;
    }
  }
  return quoted + "\"";
}

}  // namespace testing
