#include "tools/msopgen/attribute_value.h"

#include <fmt/format.h>

#include <cstdlib>

#include "core/base/number.h"

namespace tenon::msopgen {
namespace {

using Kind = JsonNode::Kind;

// The element type of a list type; nullopt for a type that is no list.
std::optional<AttributeType> ElementOf(AttributeType type) {
  switch (type) {
    case AttributeType::kInts:
      return AttributeType::kInt;
    case AttributeType::kFloats:
      return AttributeType::kFloat;
    case AttributeType::kBools:
      return AttributeType::kBool;
    case AttributeType::kTexts:
      return AttributeType::kText;
    case AttributeType::kIntLists:
      return AttributeType::kInts;
    case AttributeType::kTypes:
      return AttributeType::kType;
    case AttributeType::kTensors:
      return AttributeType::kTensor;
    default:
      return std::nullopt;
  }
}

// A text that spells a number or a truth value, as that value.
std::optional<JsonNode> Spelled(AttributeType type, const JsonNode& value) {
  JsonNode node = value;
  const std::string& text = value.text;
  if (type == AttributeType::kBool && (text == "true" || text == "false" || text == "True" || text == "False")) {
    node.kind = Kind::kBool;
    node.truth = text[0] == 't' || text[0] == 'T';
    return node;
  }
  if (type == AttributeType::kInt) {
    const auto whole = ParseNumber<std::int64_t>(text);
    if (!whole) return std::nullopt;
    node.kind = Kind::kInteger;
    node.whole = *whole;
    node.number = static_cast<double>(node.whole);
    return node;
  }
  if (type == AttributeType::kFloat) {
    char* end = nullptr;
    node.number = std::strtod(text.c_str(), &end);
    if (text.empty() || *end != '\0') return std::nullopt;
    node.kind = Kind::kReal;
    return node;
  }
  return std::nullopt;
}

// Lists within lists, equally long, of numbers.
bool IsTensor(const JsonNode& value) {
  if (value.is_number()) return true;
  if (!value.is(Kind::kList) || value.items.empty()) return value.is(Kind::kList);
  for (const JsonNode& item : value.items) {
    if (item.kind != value.items[0].kind && !(item.is_number() && value.items[0].is_number())) return false;
    if (item.items.size() != value.items[0].items.size() || !IsTensor(item)) return false;
  }
  return true;
}

std::optional<JsonNode> FitOne(AttributeType type, const JsonNode& value, std::string* why) {
  const bool fits =
      (type == AttributeType::kInt && value.is(Kind::kInteger)) ||
      (type == AttributeType::kFloat && value.is_number()) || (type == AttributeType::kBool && value.is(Kind::kBool)) ||
      (type == AttributeType::kText && value.is(Kind::kText)) || (type == AttributeType::kTensor && IsTensor(value));
  if (fits) return value;
  if (type == AttributeType::kBool && value.is(Kind::kInteger) && (value.whole == 0 || value.whole == 1)) {
    JsonNode node = value;
    node.kind = Kind::kBool;
    node.truth = value.whole == 1;
    return node;
  }
  if (type == AttributeType::kType && value.is(Kind::kText)) {
    const std::optional<TypeWord> word = ReadTypeWord(value.text, why);
    if (!word) return std::nullopt;
    if (word->types.size() == 1) {
      JsonNode node = value;
      node.text = word->types[0];
      return node;
    }
    *why = fmt::format("'{}' is a group; one type is needed.", value.text);
    return std::nullopt;
  }
  if (value.is(Kind::kText)) {
    if (std::optional<JsonNode> spelled = Spelled(type, value)) {
      *why = fmt::format("the text '{}' is taken as the {} that it spells.", value.text, NameOf(type));
      return spelled;
    }
  }
  *why = fmt::format("{} is no {}.", value.Describe(), NameOf(type));
  if (type == AttributeType::kTensor) *why = "a tensor is a number, or lists of equal length with numbers in them.";
  return std::nullopt;
}

}  // namespace

std::optional<JsonNode> FitValue(AttributeType type, const JsonNode& value, std::string* why) {
  const std::optional<AttributeType> element = ElementOf(type);
  if (!element) return FitOne(type, value, why);
  if (!value.is(Kind::kList)) {
    *why = fmt::format("{} is no {}: that is a list [...].", value.Describe(), NameOf(type));
    return std::nullopt;
  }
  JsonNode list = value;
  for (JsonNode& item : list.items) {
    std::optional<JsonNode> fitted = FitValue(*element, item, why);
    if (!fitted) return std::nullopt;
    item = std::move(*fitted);
  }
  return list;
}

JsonNode SampleValue(AttributeType type) {
  JsonNode node;
  if (const std::optional<AttributeType> element = ElementOf(type)) {
    node.kind = Kind::kList;
    node.items.push_back(SampleValue(*element));
    return node;
  }
  node.whole = 1;
  node.number = 1;
  node.truth = true;
  switch (type) {
    case AttributeType::kInt:
    case AttributeType::kTensor:
      node.kind = Kind::kInteger;
      return node;
    case AttributeType::kFloat:
      node.kind = Kind::kReal;
      return node;
    case AttributeType::kBool:
      node.kind = Kind::kBool;
      return node;
    case AttributeType::kType:
      node.kind = Kind::kText;
      node.text = "F32";
      return node;
    default:
      node.kind = Kind::kText;
      node.text = "text";
      return node;
  }
}

}  // namespace tenon::msopgen
