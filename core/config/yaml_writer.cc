#include "core/config/yaml_writer.h"

#include <fmt/format.h>

#include <cctype>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>

#include "core/config/scalar.h"

namespace tenon {
namespace {

constexpr std::size_t kLineLength = 100;

// Text that stands without quotes in any position, flow form included.
bool IsSafePlain(std::string_view text) {
  if (text.empty() || text == "<<") return false;
  const auto is_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
  if (!is_word(text[0]) && std::string_view("./_+-").find(text[0]) == std::string_view::npos) return false;
  if ((text[0] == '-' || text[0] == '.') &&
      (text.size() == 1 || text.substr(0, 3) == "---" || text.substr(0, 3) == "..."))
    return false;
  for (const char c : text) {
    if (!is_word(c) && std::string_view("./_+- *()=;").find(c) == std::string_view::npos) return false;
  }
  return text.back() != ' ' && text.find("  ") == std::string_view::npos && text.substr(0, 2) != "- ";
}

std::string Quoted(std::string_view text) {
  std::string out = "\"";
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (byte < 0x20 || byte == 0x7F) {
      out += fmt::format("\\x{:02X}", byte);
    } else if (c == '$' && text.substr(i, 2) == "${") {
      out += "$$";
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string KeyText(const std::string& key) {
  const bool plain = IsSafePlain(key) && !IsNullText(key);
  if (plain) return key;
  std::string quoted = Quoted(key);
  // Keys have no placeholders, so nothing in them is escaped.
  for (std::size_t at = quoted.find("$${"); at != std::string::npos; at = quoted.find("$${", at + 2))
    quoted.erase(at, 1);
  return quoted;
}

std::string ScalarText(const ConfigNode& node) {
  const std::string& text = node.text();
  const bool quoted = node.style() == ScalarStyle::kQuoted || IsNullText(text);
  return !quoted && IsSafePlain(text) ? text : Quoted(text);
}

void AppendBlock(const ConfigNode& node, std::size_t indent, std::string& out);

// "key: value" or "- value", on one line when it fits.
void AppendEntry(const std::string& head, const ConfigNode& value, std::size_t indent, std::string& out) {
  const std::string flow = WriteFlowYaml(value);
  const bool composite = (value.is_map() && !value.entries().empty()) || (value.is_list() && !value.items().empty());
  const bool fits = indent + head.size() + 1 + flow.size() <= kLineLength;
  out.append(indent, ' ');
  out += head;
  if (!composite || fits) {
    out += " " + flow + "\n";
    return;
  }
  out += "\n";
  AppendBlock(value, indent + 2, out);
}

void AppendBlock(const ConfigNode& node, std::size_t indent, std::string& out) {
  for (const ConfigNode& item : node.items()) AppendEntry("-", item, indent, out);
  for (const ConfigEntry& entry : node.entries()) AppendEntry(KeyText(entry.key) + ":", entry.value, indent, out);
}

}  // namespace

std::string WriteFlowYaml(const ConfigNode& node) {
  std::string out;
  switch (node.kind()) {
    case ConfigNode::Kind::kNull:
      return "null";
    case ConfigNode::Kind::kScalar:
      return ScalarText(node);
    case ConfigNode::Kind::kList:
      for (const ConfigNode& item : node.items()) out += (out.empty() ? "" : ", ") + WriteFlowYaml(item);
      return "[" + out + "]";
    case ConfigNode::Kind::kMap:
      break;
  }
  for (const ConfigEntry& entry : node.entries()) {
    out += (out.empty() ? "" : ", ") + KeyText(entry.key) + ": " + WriteFlowYaml(entry.value);
  }
  return "{" + out + "}";
}

std::string WriteYaml(const ConfigNode& root) {
  if (root.entries().empty()) return "{}\n";
  std::string out;
  AppendBlock(root, 0, out);
  return out;
}

namespace {

nlohmann::ordered_json ScalarToJson(const ConfigNode& node) {
  if (node.style() == ScalarStyle::kQuoted) return node.text();
  std::string unused;
  if (const auto flag = ReadBool(node, unused)) return *flag;
  if (const auto integer = ReadInteger(node, unused)) return *integer;
  const auto number = ReadNumber(node, false, unused);
  if (number) return *number;
  return node.text();
}

}  // namespace

nlohmann::ordered_json ToJson(const ConfigNode& node) {
  switch (node.kind()) {
    case ConfigNode::Kind::kNull:
      return nullptr;
    case ConfigNode::Kind::kScalar:
      return ScalarToJson(node);
    case ConfigNode::Kind::kList: {
      nlohmann::ordered_json list = nlohmann::ordered_json::array();
      for (const ConfigNode& item : node.items()) list.push_back(ToJson(item));
      return list;
    }
    case ConfigNode::Kind::kMap:
      break;
  }
  nlohmann::ordered_json map = nlohmann::ordered_json::object();
  for (const ConfigEntry& entry : node.entries()) map[entry.key] = ToJson(entry.value);
  return map;
}

}  // namespace tenon
