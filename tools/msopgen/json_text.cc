#include "tools/msopgen/json_text.h"

#include <nlohmann/json.hpp>

namespace tenon::msopgen {
namespace {

using Json = nlohmann::ordered_json;
constexpr std::size_t kColumns = 120;

// {"a": 1, "b": [2, 3]}
std::string OneLine(const Json& value) {
  if (!value.is_structured() || value.empty()) return value.dump();
  std::string text;
  for (const auto& [key, item] : value.items()) {
    text += text.empty() ? "" : ", ";
    if (value.is_object()) text += Json(key).dump() + ": ";
    text += OneLine(item);
  }
  return value.is_object() ? "{" + text + "}" : "[" + text + "]";
}

// `used` columns of the first line are taken.
std::string Text(const Json& value, std::size_t indent, std::size_t used) {
  std::string line = OneLine(value);
  if (!value.is_structured() || value.empty() || used + line.size() <= kColumns) return line;
  std::string text = value.is_object() ? "{" : "[", before = "\n";
  for (const auto& [key, item] : value.items()) {
    const std::string name = value.is_object() ? Json(key).dump() + ": " : "";
    text += before + std::string(indent + 2, ' ') + name + Text(item, indent + 2, indent + 2 + name.size() + 1);
    before = ",\n";
  }
  return text + "\n" + std::string(indent, ' ') + (value.is_object() ? "}" : "]");
}

}  // namespace

std::string PrettyText(const Json& value) { return Text(value, 0, 0) + "\n"; }

}  // namespace tenon::msopgen
