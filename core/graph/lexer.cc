#include "core/graph/lexer.h"

#include <cctype>
#include <limits>

#include "core/base/number.h"

namespace tenon::graph {
namespace {

bool IsWordStart(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '*' || c == '$';
}
bool IsWordPart(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '/' || c == '-' || c == ':';
}
bool IsNumberPart(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '-' || c == '+';
}

}  // namespace

std::string Lexer::place() const { return fmt::format("{}:{}:{}", source_, token_line_, token_column_); }

Status Lexer::Wrong(std::string_view expected) const {
  const std::string found = kind_ == Token::kEnd ? "the end of the text" : fmt::format("'{}'", token_);
  return InvalidArgument("Expected {}; found {}.", expected, found).At(place());
}

void Lexer::Step() {
  if (text_[at_] == '\n') {
    ++line_;
    column_ = 1;
  } else {
    ++column_;
  }
  ++at_;
}

bool Lexer::SkipBlank() {
  while (at_ < text_.size()) {
    if (text_[at_] == '#') {
      while (at_ < text_.size() && text_[at_] != '\n') Step();
    } else if (std::isspace(static_cast<unsigned char>(text_[at_])) != 0) {
      Step();
    } else {
      return true;
    }
  }
  return false;
}

Status Lexer::ReadQuoted() {
  Step();  // the opening quote
  while (at_ < text_.size() && text_[at_] != '"') {
    if (text_[at_] == '\\' && at_ + 1 < text_.size()) {
      Step();
      token_.push_back(text_[at_] == 'n' ? '\n' : text_[at_]);
    } else {
      token_.push_back(text_[at_]);
    }
    Step();
  }
  if (at_ >= text_.size()) return InvalidArgument("A text that starts here has no closing quote.").At(place());
  Step();
  return {};
}

Status Lexer::Advance() {
  token_.clear();
  const bool more = SkipBlank();
  token_line_ = line_;
  token_column_ = column_;
  if (!more) {
    kind_ = Token::kEnd;
    return {};
  }
  const char c = text_[at_];
  if (c == '%') {
    kind_ = Token::kValueName;
    Step();
    if (at_ < text_.size() && text_[at_] == '"') return ReadQuoted();
    while (at_ < text_.size() && IsWordPart(text_[at_])) {
      // A ':' ends the name unless it belongs to it ("node:1"): a type follows after ": ".
      if (text_[at_] == ':' && (at_ + 1 >= text_.size() || !IsWordPart(text_[at_ + 1]))) break;
      token_.push_back(text_[at_]);
      Step();
    }
    if (token_.empty()) return InvalidArgument("A '%' must be followed by the name of a value.").At(place());
    return {};
  }
  if (c == '"') {
    kind_ = Token::kText;
    return ReadQuoted();
  }
  if (std::isdigit(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '+') {
    kind_ = Token::kNumber;
    while (at_ < text_.size() && IsNumberPart(text_[at_])) {
      token_.push_back(text_[at_]);
      Step();
    }
    return {};
  }
  if (IsWordStart(c)) {
    kind_ = Token::kWord;
    token_.push_back(c);
    Step();
    while (at_ < text_.size() && IsWordPart(text_[at_]) && text_[at_] != ':') {
      token_.push_back(text_[at_]);
      Step();
    }
    return {};
  }
  kind_ = Token::kPunctuation;
  token_.push_back(c);
  Step();
  return {};
}

Status Lexer::Expect(std::string_view punctuation) {
  if (!Is(punctuation)) return Wrong(fmt::format("'{}'", punctuation));
  return Advance();
}

Result<std::string> Lexer::TakeWord(std::string_view what) {
  if (kind_ != Token::kWord) return Wrong(what);
  std::string word = token_;
  TENON_TRY(Advance());
  return word;
}

Result<std::string> Lexer::TakeValueName() {
  if (kind_ != Token::kValueName) return Wrong("the name of a value (%name)");
  std::string word = token_;
  TENON_TRY(Advance());
  return word;
}

Result<std::string> Lexer::TakeText(std::string_view what) {
  if (kind_ != Token::kText) return Wrong(what);
  std::string word = token_;
  TENON_TRY(Advance());
  return word;
}

Result<std::int64_t> Lexer::TakeInt(std::string_view what) {
  const auto value = ParseNumber<std::int64_t>(token_);
  if (kind_ != Token::kNumber || !value) return Wrong(what);
  TENON_TRY(Advance());
  return *value;
}

namespace {

bool LooksReal(const std::string& number) { return number.find_first_of(".eEnN") != std::string::npos; }

std::optional<double> Real(const std::string& text) {
  const bool negative = text == "-inf" || text == "-nan";
  if (text == "inf" || text == "-inf")
    return negative ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
  if (text == "nan" || text == "-nan") return std::numeric_limits<double>::quiet_NaN();
  return ParseNumber<double>(text);
}

}  // namespace

Result<AttrValue> Lexer::TakeAttrValue() {
  if (Is("[")) return TakeList();
  if (IsWord("tensor")) return TakeTensor();
  if (kind_ == Token::kText) {
    TENON_ASSIGN(std::string value, TakeText("a text"));
    return AttrValue(std::move(value));
  }
  if (IsWord("true") || IsWord("false")) {
    const bool value = IsWord("true");
    TENON_TRY(Advance());
    return AttrValue(std::int64_t{value ? 1 : 0});
  }
  const bool number = kind_ == Token::kNumber || IsWord("inf") || IsWord("nan");
  if (!number) return Wrong("a number, a \"text\", a [list] or a tensor");
  if (kind_ == Token::kNumber && !LooksReal(token_)) {
    TENON_ASSIGN(const std::int64_t value, TakeInt("a whole number"));
    return AttrValue(value);
  }
  const auto value = Real(token_);
  if (!value) return Wrong("a number");
  TENON_TRY(Advance());
  return AttrValue(*value);
}

Result<AttrValue> Lexer::TakeList() {
  TENON_TRY(Expect("["));
  std::vector<AttrValue> items;
  while (!Is("]")) {
    if (!items.empty()) TENON_TRY(Expect(","));
    TENON_ASSIGN(AttrValue item, TakeAttrValue());
    if (!items.empty() && item.index() != items.front().index())
      return InvalidArgument("The items of a list must have one type.").At(place());
    items.push_back(std::move(item));
  }
  TENON_TRY(Expect("]"));
  if (!items.empty() && TypeOf(items.front()) == AttrType::kFloat) {
    std::vector<double> values;
    for (const AttrValue& item : items) values.push_back(std::get<double>(item));
    return AttrValue(std::move(values));
  }
  if (!items.empty() && TypeOf(items.front()) == AttrType::kText) {
    std::vector<std::string> values;
    for (const AttrValue& item : items) values.push_back(std::get<std::string>(item));
    return AttrValue(std::move(values));
  }
  std::vector<std::int64_t> values;
  for (const AttrValue& item : items) {
    const auto* whole = std::get_if<std::int64_t>(&item);
    if (whole == nullptr) return Wrong("a list of numbers or texts");
    values.push_back(*whole);
  }
  return AttrValue(std::move(values));
}

Result<AttrValue> Lexer::TakeTensor() {
  TENON_TRY(Advance());  // tensor
  TENON_ASSIGN(const std::string type, TakeWord("a dtype"));
  const auto dtype = ParseDType(type);
  if (!dtype) return InvalidArgument("'{}' is not a dtype.", type).At(place());
  TENON_TRY(Expect("["));
  std::vector<std::int64_t> dims;
  while (!Is("]")) {
    if (!dims.empty()) TENON_TRY(Expect(","));
    TENON_ASSIGN(const std::int64_t dim, TakeInt("a dimension"));
    dims.push_back(dim);
  }
  TENON_TRY(Expect("]"));
  TENON_ASSIGN(const Shape shape, Shape::Make(dims));
  TENON_TRY(Expect("{"));
  Tensor tensor(*dtype, shape);
  for (std::int64_t i = 0; i < shape.elements(); ++i) {
    if (i > 0) TENON_TRY(Expect(","));
    Status status;
    ForAny(*dtype, [&]<class T>() {
      if constexpr (std::is_integral_v<T>) {
        auto value = TakeInt("a whole number");
        if (!value.ok()) {
          status = value.status();
          return;
        }
        tensor.data<T>()[i] = static_cast<T>(*value);
      } else {
        const auto value = Real(token_);
        if (!value) {
          status = Wrong("a number");
          return;
        }
        status = Advance();
        if constexpr (std::is_same_v<T, double>) {
          tensor.data<T>()[i] = *value;
        } else {
          tensor.data<T>()[i] = T(static_cast<float>(*value));
        }
      }
    });
    TENON_TRY(std::move(status));
  }
  TENON_TRY(Expect("}"));
  return AttrValue(std::move(tensor));
}

}  // namespace tenon::graph
