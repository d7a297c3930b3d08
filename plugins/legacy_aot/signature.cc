#include "plugins/legacy_aot/signature.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <iterator>

#include "tenon/sdk/error.h"

namespace tenon::aot {
namespace {

constexpr std::string_view kTypes[] = {"int", "float", "flag", "text", "ints", "floats", "int_rows", "float_rows"};

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Signature Run() {
    Signature signature;
    if (AtEnd()) {
      signature.like = {0};
      return signature;
    }
    std::vector<std::string> liked;
    signature.inputs = Operands(nullptr);
    Expect("->");
    signature.outputs = Operands(&liked);
    if (signature.outputs.empty()) Complain("at least one output is needed");
    for (const std::string& name : liked) signature.like.push_back(InputNumber(signature, name));
    if (Take("{")) signature.attributes = Attributes();
    if (Take("gradient")) signature.gradient = Name("the symbol of the backward operator");
    if (!AtEnd()) Complain("nothing more was expected");
    return signature;
  }

 private:
  [[noreturn]] void Complain(std::string_view what) const {
    throw sdk::Failure(TENON_INVALID_ARGUMENT, "In the signature '", text_, "', at character ", at_ + 1, ": ", what,
                       ".");
  }
  void SkipSpace() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
  }
  bool AtEnd() {
    SkipSpace();
    return at_ == text_.size();
  }
  bool Take(std::string_view token) {
    SkipSpace();
    if (text_.substr(at_, token.size()) != token) return false;
    at_ += token.size();
    return true;
  }
  void Expect(std::string_view token) {
    if (!Take(token)) Complain("'" + std::string(token) + "' was expected");
  }
  std::string Name(std::string_view what) {
    SkipSpace();
    const std::size_t begin = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '_'))
      ++at_;
    if (begin == at_) Complain(std::string(what) + " was expected");
    return std::string(text_.substr(begin, at_ - begin));
  }

  // "(a, b)"; of outputs also ": like x", whose names go to `liked` (empty: not said).
  std::vector<std::string> Operands(std::vector<std::string>* liked) {
    std::vector<std::string> names;
    Expect("(");
    if (Take(")")) return names;
    do {
      names.push_back(Name("the name of an operand"));
      if (std::count(names.begin(), names.end(), names.back()) > 1) Complain("'" + names.back() + "' is named twice");
      if (liked == nullptr) continue;
      liked->emplace_back();
      if (Take(":")) {
        Expect("like");
        liked->back() = Name("the name of an input");
      }
    } while (Take(","));
    Expect(")");
    return names;
  }

  int InputNumber(const Signature& signature, const std::string& name) {
    if (name.empty()) return signature.inputs.empty() ? -1 : 0;
    const auto found = std::find(signature.inputs.begin(), signature.inputs.end(), name);
    if (found == signature.inputs.end()) Complain("there is no input '" + name + "'");
    return static_cast<int>(found - signature.inputs.begin());
  }

  std::vector<AttributeSpec> Attributes() {
    std::vector<AttributeSpec> attributes;
    if (Take("}")) return attributes;
    do {
      AttributeSpec spec;
      spec.name = Name("the name of an attribute");
      Expect(":");
      const std::string type = Name("a type");
      const auto known = std::find(std::begin(kTypes), std::end(kTypes), type);
      if (known == std::end(kTypes))
        Complain("'" + type + "' is no type; types are int, float, flag, text, ints, floats, int_rows and float_rows");
      spec.type = static_cast<AttributeType>(known - std::begin(kTypes));
      if (Take("=")) Default(spec);
      attributes.push_back(std::move(spec));
    } while (Take(","));
    Expect("}");
    std::sort(attributes.begin(), attributes.end(),
              [](const AttributeSpec& a, const AttributeSpec& b) { return a.name < b.name; });
    for (std::size_t i = 1; i < attributes.size(); ++i) {
      if (attributes[i].name == attributes[i - 1].name)
        Complain("attribute '" + attributes[i].name + "' is there twice");
    }
    return attributes;
  }

  void Default(AttributeSpec& spec) {
    spec.has_default = true;
    switch (spec.type) {
      case AttributeType::kFlag:
        if (Take("true")) {
          spec.number = 1;
        } else if (!Take("false")) {
          Complain("true or false was expected");
        }
        return;
      case AttributeType::kInt:
      case AttributeType::kFloat: {
        SkipSpace();
        const std::string rest(text_.substr(at_));
        char* end = nullptr;
        spec.number = std::strtod(rest.c_str(), &end);
        if (end == rest.c_str()) Complain("a number was expected");
        if (spec.type == AttributeType::kInt && spec.number != static_cast<double>(static_cast<int64_t>(spec.number)))
          Complain("a whole number was expected");
        at_ += static_cast<std::size_t>(end - rest.c_str());
        return;
      }
      case AttributeType::kText: {
        Expect("'");
        const std::size_t end = text_.find('\'', at_);
        if (end == std::string_view::npos) Complain("the text does not end");
        spec.text = text_.substr(at_, end - at_);
        at_ = end + 1;
        return;
      }
      default:
        Complain("a list has no default here; give it in the layer");
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

Signature ParseSignature(std::string_view text) { return Parser(text).Run(); }

}  // namespace tenon::aot
