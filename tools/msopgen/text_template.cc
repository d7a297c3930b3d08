#include "tools/msopgen/text_template.h"

#include <nlohmann/json.hpp>
#include <vector>

namespace tenon::msopgen {
namespace {

using Json = nlohmann::json;

struct Mark {
  std::size_t begin = 0, end = 0;  // of the whole mark, and of its line where it is alone in it
  char kind = ' ';                 // ' ', '#', '^', '/'
  std::string name;
};

class Renderer {
 public:
  Renderer(const std::string& text, std::string name) : text_(text), name_(std::move(name)) {}

  Result<std::string> Run(const Json& values) {
    scopes_.push_back(&values);
    std::size_t at = 0;
    TENON_TRY(Write(at, "", true));
    return std::move(out_);
  }

 private:
  Result<bool> Next(std::size_t from, Mark& mark) const {
    mark.begin = text_.find("{{", from);
    if (mark.begin == std::string::npos) return false;
    while (text_.compare(mark.begin + 1, 2, "{{") == 0) ++mark.begin;  // "{{{x}}}": braces of the text around a mark
    const std::size_t close = text_.find("}}", mark.begin);
    if (close == std::string::npos) return Error(Code::kInternal, "Template {}: a mark is not closed.", name_);
    std::string word = text_.substr(mark.begin + 2, close - mark.begin - 2);
    mark.end = close + 2;
    mark.kind = ' ';
    if (!word.empty() && (word[0] == '#' || word[0] == '^' || word[0] == '/')) {
      mark.kind = word[0];
      word.erase(0, 1);
      const std::size_t line = text_.find_last_not_of(" ", mark.begin == 0 ? 0 : mark.begin - 1);
      const bool first = mark.begin == 0 || line == std::string::npos || text_[line] == '\n';
      if (first && mark.end < text_.size() && text_[mark.end] == '\n') {
        mark.begin = mark.begin == 0 || line == std::string::npos ? 0 : line + 1;
        ++mark.end;
      }
    }
    mark.name = word;
    return true;
  }

  const Json* Find(const std::string& name) const {
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
      if (name == ".") return *scope;
      if ((*scope)->is_object() && (*scope)->contains(name)) return &(*scope)->at(name);
    }
    return nullptr;
  }

  // Writes until the end of the section; at is where it goes on.
  Status Write(std::size_t& at, const std::string& section, bool shown) {
    for (;;) {
      Mark mark;
      TENON_ASSIGN(const bool more, Next(at, mark));
      if (!more) {
        TENON_INVALID_IF(!section.empty(), "Template {}: section '{}' is not closed.", name_, section);
        if (shown) out_ += text_.substr(at);
        return {};
      }
      if (shown) out_ += text_.substr(at, mark.begin - at);
      at = mark.end;
      if (mark.kind == '/') {
        TENON_INVALID_IF(mark.name != section, "Template {}: '{}' is closed where '{}' is open.", name_, mark.name,
                         section);
        return {};
      }
      const Json* value = Find(mark.name);
      TENON_INVALID_IF(value == nullptr && shown, "Template {}: nothing is known of '{}'.", name_, mark.name);
      if (mark.kind == ' ') {
        if (shown) out_ += value->is_string() ? value->get<std::string>() : value->dump();
      } else {
        TENON_TRY(WriteSection(at, mark, value == nullptr ? Json() : *value, shown));
      }
    }
  }

  Status WriteSection(std::size_t& at, const Mark& mark, const Json& value, bool shown) {
    const bool nothing = value.is_null() || (value.is_boolean() && !value.get<bool>()) ||
                         ((value.is_array() || value.is_string()) && value.empty()) ||
                         (value.is_string() && value.get_ref<const std::string&>().empty());
    const std::size_t start = at;
    if (mark.kind == '^' || nothing || !shown || !value.is_array())
      return Once(at, mark.name, value, shown && (mark.kind == '^') == nothing, value.is_object());
    for (const Json& item : value) {
      at = start;
      TENON_TRY(Once(at, mark.name, item, true, true));
    }
    return {};
  }

  Status Once(std::size_t& at, const std::string& name, const Json& value, bool shown, bool scope) {
    if (scope) scopes_.push_back(&value);
    Status status = Write(at, name, shown);
    if (scope) scopes_.pop_back();
    return status;
  }

  const std::string& text_;
  const std::string name_;
  std::vector<const Json*> scopes_;
  std::string out_;
};

}  // namespace

Result<std::string> Render(const std::string& text, const Json& values, const std::string& name) {
  return Renderer(text, name).Run(values);
}

}  // namespace tenon::msopgen
