#pragma once

#include <string>
#include <string_view>

#include "core/base/status.h"
#include "core/ops/attribute.h"

namespace tenon::graph {

enum class Token { kEnd, kWord, kValueName, kNumber, kText, kPunctuation };

// Splits the text form of graphs and patterns into tokens. `#` starts a comment to the end of the line. Words may hold
// dots, slashes and dashes; a value name is %word or %"any text". Errors carry "source:line:col".
class Lexer {
 public:
  Lexer(std::string_view text, std::string source) : text_(text), source_(std::move(source)) {}

  Status Advance();  // to the next token; the first call reads the first
  Token kind() const { return kind_; }
  const std::string& text() const { return token_; }  // without '%', quotes and escapes
  bool Is(std::string_view punctuation) const { return kind_ == Token::kPunctuation && token_ == punctuation; }
  bool IsWord(std::string_view word) const { return kind_ == Token::kWord && token_ == word; }

  // Consume the current token, or explain what was expected.
  Status Expect(std::string_view punctuation);
  Result<std::string> TakeWord(std::string_view what);
  Result<std::string> TakeValueName();
  Result<std::string> TakeText(std::string_view what);
  Result<std::int64_t> TakeInt(std::string_view what);

  // number, "text", [list], or `tensor f32[2]{1,2}`.
  Result<AttrValue> TakeAttrValue();

  std::string place() const;
  Status Wrong(std::string_view expected) const;

 private:
  bool SkipBlank();
  void Step();
  Status ReadQuoted();
  Result<AttrValue> TakeList();
  Result<AttrValue> TakeTensor();

  std::string_view text_;
  std::string source_;
  std::size_t at_ = 0;
  int line_ = 1, column_ = 1, token_line_ = 1, token_column_ = 1;
  Token kind_ = Token::kEnd;
  std::string token_;
};

}  // namespace tenon::graph
