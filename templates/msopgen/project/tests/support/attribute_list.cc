#include "tests/support/attribute_list.h"

#include <algorithm>
#include <stdexcept>

#include "tests/support/tensor.h"

namespace testing {
namespace {

double NumberIn(const Json& value) {
  if (value.kind == Json::Kind::kBool) return value.truth ? 1 : 0;
  return value.number;
}

int64_t WholeIn(const Json& value) {
  if (value.kind == Json::Kind::kBool) return value.truth ? 1 : 0;
  return value.whole;
}

void Flatten(const Json& value, std::vector<double>& numbers, std::vector<int64_t>& dims, size_t depth) {
  if (!value.is_list()) {
    numbers.push_back(NumberIn(value));
    return;
  }
  if (dims.size() == depth) dims.push_back(static_cast<int64_t>(value.items.size()));
  for (const Json& item : value.items) Flatten(item, numbers, dims, depth + 1);
}

// A list as one text: "1,2", or "2x2: 1 2 3 4" with the dims of a tensor.
std::string ListText(const Json& value, bool tensor) {
  if (value.is_text()) return value.text;
  std::vector<double> numbers;
  std::vector<int64_t> dims;
  Flatten(value, numbers, dims, 0);
  std::string text;
  for (size_t i = 0; tensor && i < dims.size(); ++i) text += (i == 0 ? "" : "x") + std::to_string(dims[i]);
  if (tensor) text += ":";
  for (size_t i = 0; i < numbers.size(); ++i) {
    char digits[32];
    std::snprintf(digits, sizeof digits, "%.17g", numbers[i]);
    text += (tensor ? " " : i == 0 ? "" : ",") + std::string(digits);
  }
  return text;
}

}  // namespace

AttributeList::AttributeList(const tenon_operator_def& definition, const Json* given) {
  for (uint32_t i = 0; i < definition.attribute_count; ++i) {
    const auto& attribute = tenon::sdk::AtStride(definition.attributes, definition.attribute_stride, i);
    const std::string name(tenon::sdk::Text(attribute.name));
    const Json* value = nullptr;
    for (size_t k = 0; given != nullptr && k < given->items.size(); ++k) {
      const Json* own = given->items[k].Find("name");
      if (own != nullptr && own->text == name) value = given->items[k].Find("value");
    }
    if (value == nullptr && attribute.default_value == nullptr) continue;
    tenon_attribute record = TENON_INIT(tenon_attribute);
    if (attribute.default_value != nullptr) record = *attribute.default_value;
    record.kind = attribute.kind;
    record.name = attribute.name;
    if (value != nullptr) Set(record, *value);
    records_.push_back(record);
  }
}

AttributeList::AttributeList(const tenon_operator_def& definition, const std::vector<tenon_attribute>& given)
    : AttributeList(definition, static_cast<const Json*>(nullptr)) {
  for (const tenon_attribute& value : given) {
    const std::string_view name = tenon::sdk::Text(value.name);
    const auto place = std::lower_bound(
        records_.begin(), records_.end(), name,
        [](const tenon_attribute& record, std::string_view text) { return tenon::sdk::Text(record.name) < text; });
    if (place != records_.end() && tenon::sdk::Text(place->name) == name) {
      *place = value;
    } else {
      records_.insert(place, value);
    }
  }
}

void AttributeList::Set(tenon_attribute& record, const Json& value) {
  switch (record.kind) {
    case TENON_ATTRIBUTE_DTYPE:
      record.i64 = value.is_text() ? static_cast<int64_t>(DTypeOf(value.text)) : value.whole;
      return;
    case TENON_ATTRIBUTE_INT:
    case TENON_ATTRIBUTE_FLAG:
      record.i64 = WholeIn(value);
      return;
    case TENON_ATTRIBUTE_FLOAT:
      record.f64 = NumberIn(value);
      return;
    case TENON_ATTRIBUTE_TEXT:
      record.text = tenon::sdk::Str(texts_.emplace_back(value.text));
      return;
    case TENON_ATTRIBUTE_INTS:
    case TENON_ATTRIBUTE_SHAPE: {
      std::vector<int64_t>& list = ints_.emplace_back();
      for (const Json& item : value.items) list.push_back(WholeIn(item));
      record.ints = list.data();
      record.count = list.size();
      return;
    }
    case TENON_ATTRIBUTE_FLOATS: {
      std::vector<double>& list = floats_.emplace_back();
      for (const Json& item : value.items) list.push_back(NumberIn(item));
      record.floats = list.data();
      record.count = list.size();
      return;
    }
    case TENON_ATTRIBUTE_TENSOR: {
      std::vector<double>& numbers = floats_.emplace_back();
      std::vector<int64_t>& dims = ints_.emplace_back();
      Flatten(value, numbers, dims, 0);
      tenon_tensor& tensor = tensors_.emplace_back(TENON_INIT(tenon_tensor));
      tensor.flags = TENON_TENSOR_READ_ONLY | TENON_TENSOR_HOST_ACCESSIBLE;
      tensor.address = reinterpret_cast<uintptr_t>(numbers.data());
      tensor.dtype = TENON_DTYPE_F64;
      tensor.rank = static_cast<uint32_t>(dims.size());
      tensor.dims = dims.data();
      record.tensor = &tensor;
      return;
    }
    case TENON_ATTRIBUTE_TEXTS: {
      std::vector<tenon_str>& list = text_lists_.emplace_back();
      for (const Json& item : value.items) {
        const bool nested = item.is_list() && std::any_of(item.items.begin(), item.items.end(),
                                                          [](const Json& inner) { return inner.is_list(); });
        list.push_back(tenon::sdk::Str(texts_.emplace_back(ListText(item, nested))));
      }
      record.texts = list.data();
      record.count = list.size();
      return;
    }
    default:
      throw std::runtime_error("an attribute of kind " + std::to_string(record.kind) + " is not known here");
  }
}

const tenon_attribute* AttributeList::Find(std::string_view name) const {
  for (const tenon_attribute& record : records_) {
    if (tenon::sdk::Text(record.name) == name) return &record;
  }
  return nullptr;
}

double AttributeList::Number(std::string_view name, double fallback) const {
  const tenon_attribute* found = Find(name);
  if (found == nullptr) return fallback;
  return found->kind == TENON_ATTRIBUTE_FLOAT ? found->f64 : static_cast<double>(found->i64);
}

std::vector<int64_t> AttributeList::Ints(std::string_view name) const {
  const tenon_attribute* found = Find(name);
  if (found == nullptr) return {};
  if (found->kind == TENON_ATTRIBUTE_INT) return {found->i64};
  return {found->ints, found->ints + found->count};
}

std::string AttributeList::Text(std::string_view name, std::string_view fallback) const {
  const tenon_attribute* found = Find(name);
  return std::string(found == nullptr ? fallback : tenon::sdk::Text(found->text));
}

std::vector<double> AttributeList::Numbers(std::string_view name) const {
  const tenon_attribute* found = Find(name);
  if (found == nullptr) return {};
  if (found->kind == TENON_ATTRIBUTE_INTS) return {found->ints, found->ints + found->count};
  return {found->floats, found->floats + found->count};
}

std::vector<std::string> AttributeList::Texts(std::string_view name) const {
  const tenon_attribute* found = Find(name);
  std::vector<std::string> texts;
  for (uint64_t i = 0; found != nullptr && i < found->count; ++i) texts.emplace_back(tenon::sdk::Text(found->texts[i]));
  return texts;
}

}  // namespace testing
