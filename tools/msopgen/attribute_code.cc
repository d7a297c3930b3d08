#include "tools/msopgen/attribute_code.h"

#include <fmt/format.h>

#include <limits>

#include "core/base/text.h"

namespace tenon::msopgen {
namespace {

// A string literal; bytes that C++ could misread are octal.
std::string Literal(const std::string& text) {
  std::string literal = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\' || c == '?') {
      literal += '\\';
      literal += c;
    } else if (byte < 0x20 || byte >= 0x7f) {
      literal += fmt::format("\\{:03o}", byte);
    } else {
      literal += c;
    }
  }
  return literal + "\"";
}

std::string WholeCode(std::int64_t value) {
  if (value == std::numeric_limits<std::int64_t>::min()) return "(-9223372036854775807 - 1)";
  return std::to_string(value);
}
std::string RealCode(double value) {
  const std::string text = fmt::format("{}", value);
  return text.find_first_of(".en") == std::string::npos ? text + ".0" : text;
}

void Flatten(const JsonNode& value, std::vector<std::string>& dims, std::vector<std::string>& numbers,
             std::size_t depth) {
  if (!value.is(JsonNode::Kind::kList)) {
    numbers.push_back(fmt::format("{}", value.number));
    return;
  }
  if (dims.size() == depth) dims.push_back(std::to_string(value.items.size()));
  for (const JsonNode& item : value.items) Flatten(item, dims, numbers, depth + 1);
}

// One element of a list that travels as texts.
std::string ElementText(AttributeType type, const JsonNode& value) {
  if (type == AttributeType::kTexts) return value.text;
  if (type == AttributeType::kTypes) return ShortName(value.text);
  std::vector<std::string> dims, numbers;
  Flatten(value, dims, numbers, 0);
  return type == AttributeType::kIntLists ? Join(numbers, ",") : Join(dims, "x") + ": " + Join(numbers, " ");
}

// "constexpr int64_t name[] = {1, 2};", and the constant made of it; an empty list needs no array.
std::vector<std::string> ListCode(const std::string& type, const std::string& maker,
                                  const std::vector<std::string>& items, const std::string& name) {
  if (items.empty()) return {fmt::format("constexpr tenon_attribute {} = support::{}();", name, maker)};
  return {fmt::format("constexpr {} {}Values[] = {{{}}};", type, name, Join(items, ", ")),
          fmt::format("constexpr tenon_attribute {} = support::{}({}Values);", name, maker, name)};
}

std::vector<std::string> TensorCode(const JsonNode& value, const std::string& name) {
  std::vector<std::string> dims, numbers;
  Flatten(value, dims, numbers, 0);
  for (std::string& number : numbers) number = RealCode(std::strtod(number.c_str(), nullptr));
  if (numbers.empty()) numbers.push_back("0.0");
  std::vector<std::string> lines = {fmt::format("constexpr double {}Values[] = {{{}}};", name, Join(numbers, ", "))};
  const bool scalar = dims.empty();
  if (!scalar) lines.push_back(fmt::format("constexpr int64_t {}Dims[] = {{{}}};", name, Join(dims, ", ")));
  lines.push_back(fmt::format("const tenon_tensor {}Tensor = support::TensorOf({}Values, {});", name, name,
                              scalar ? "sdk::Table<int64_t>()" : name + "Dims"));
  lines.push_back(fmt::format("constexpr tenon_attribute {} = support::TensorDefault(&{}Tensor);", name, name));
  return lines;
}

}  // namespace

std::string CppType(AttributeType type) {
  switch (type) {
    case AttributeType::kInt:
    case AttributeType::kType:
      return "int64_t";
    case AttributeType::kFloat:
      return "double";
    case AttributeType::kBool:
      return "bool";
    case AttributeType::kText:
      return "std::string";
    case AttributeType::kTensor:
      return "support::TensorValue";
    case AttributeType::kInts:
    case AttributeType::kTypes:
      return "std::vector<int64_t>";
    case AttributeType::kFloats:
      return "std::vector<double>";
    case AttributeType::kBools:
      return "std::vector<bool>";
    case AttributeType::kTexts:
      return "std::vector<std::string>";
    case AttributeType::kIntLists:
      return "std::vector<std::vector<int64_t>>";
    case AttributeType::kTensors:
      return "std::vector<support::TensorValue>";
  }
  return "";
}

std::string KindOf(AttributeType type) {
  switch (type) {
    case AttributeType::kInt:
      return "TENON_ATTRIBUTE_INT";
    case AttributeType::kType:
      return "TENON_ATTRIBUTE_DTYPE";
    case AttributeType::kFloat:
      return "TENON_ATTRIBUTE_FLOAT";
    case AttributeType::kBool:
      return "TENON_ATTRIBUTE_FLAG";
    case AttributeType::kText:
      return "TENON_ATTRIBUTE_TEXT";
    case AttributeType::kTensor:
      return "TENON_ATTRIBUTE_TENSOR";
    case AttributeType::kInts:
    case AttributeType::kBools:
      return "TENON_ATTRIBUTE_INTS";
    case AttributeType::kFloats:
      return "TENON_ATTRIBUTE_FLOATS";
    default:
      return "TENON_ATTRIBUTE_TEXTS";
  }
}

std::vector<std::string> DefaultCode(AttributeType type, const JsonNode& value, const std::string& name) {
  std::vector<std::string> items;
  switch (type) {
    case AttributeType::kInt:
      return {fmt::format("constexpr tenon_attribute {} = support::IntDefault({});", name, WholeCode(value.whole))};
    case AttributeType::kType:
      return {fmt::format("constexpr tenon_attribute {} = support::TypeDefault(TENON_DTYPE_{});", name, value.text)};
    case AttributeType::kFloat:
      return {fmt::format("constexpr tenon_attribute {} = support::FloatDefault({});", name, RealCode(value.number))};
    case AttributeType::kBool:
      return {fmt::format("constexpr tenon_attribute {} = support::FlagDefault({});", name, value.truth)};
    case AttributeType::kText:
      return {fmt::format("constexpr tenon_attribute {} = support::TextDefault({});", name, Literal(value.text))};
    case AttributeType::kTensor:
      return TensorCode(value, name);
    case AttributeType::kInts:
    case AttributeType::kBools:
      for (const JsonNode& item : value.items)
        items.push_back(WholeCode(type == AttributeType::kBools ? (item.truth ? 1 : 0) : item.whole));
      return ListCode("int64_t", "IntsDefault", items, name);
    case AttributeType::kFloats:
      for (const JsonNode& item : value.items) items.push_back(RealCode(item.number));
      return ListCode("double", "FloatsDefault", items, name);
    default:
      for (const JsonNode& item : value.items)
        items.push_back(fmt::format("sdk::Str({})", Literal(ElementText(type, item))));
      return ListCode("tenon_str", "TextsDefault", items, name);
  }
}

std::string InitialCode(AttributeType type, const JsonNode* value) {
  switch (type) {
    case AttributeType::kInt:
      return " = " + WholeCode(value == nullptr ? 0 : value->whole);
    case AttributeType::kType:
      return value == nullptr ? " = 0" : " = TENON_DTYPE_" + value->text;
    case AttributeType::kFloat:
      return " = " + RealCode(value == nullptr ? 0 : value->number);
    case AttributeType::kBool:
      return value != nullptr && value->truth ? " = true" : " = false";
    default:
      return "";
  }
}

}  // namespace tenon::msopgen
