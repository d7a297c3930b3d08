// Attributes of any source (a kernel's query, a node under inference) as C++ values. Lists that the interface has no kind
// for travel as lists of texts: "1,2" in list_list_int, "f32" in list_type, "2x3: 1 2 3 4 5 6" in list_tensor.
#pragma once

#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "support/numbers.h"

namespace support {

namespace sdk = tenon::sdk;

// NULL for an attribute that is not there.
using FindAttribute = std::function<const tenon_attribute*(std::string_view name)>;

inline FindAttribute AttributesOf(const sdk::Query& query) {
  return [list = query.attributes()](std::string_view name) { return list.Find(name); };
}
inline FindAttribute AttributesOf(const sdk::Infer& node) {
  return [&node](std::string_view name) { return node.Attribute(name); };
}

// The value of an attribute of type tensor.
struct TensorValue {
  std::vector<int64_t> dims;
  std::vector<double> values;
};

// An absent attribute leaves the value as it is.
inline void Read(const FindAttribute& find, const char* name, int64_t& value) {
  if (const tenon_attribute* found = find(name)) value = found->i64;
}
inline void Read(const FindAttribute& find, const char* name, double& value) {
  if (const tenon_attribute* found = find(name))
    value = found->kind == TENON_ATTRIBUTE_INT ? static_cast<double>(found->i64) : found->f64;
}
inline void Read(const FindAttribute& find, const char* name, bool& value) {
  if (const tenon_attribute* found = find(name)) value = found->i64 != 0;
}
inline void Read(const FindAttribute& find, const char* name, std::string& value) {
  if (const tenon_attribute* found = find(name)) value = sdk::Text(found->text);
}
inline void Read(const FindAttribute& find, const char* name, std::vector<int64_t>& value) {
  if (const tenon_attribute* found = find(name)) value.assign(found->ints, found->ints + found->count);
}
inline void Read(const FindAttribute& find, const char* name, std::vector<bool>& value) {
  const tenon_attribute* found = find(name);
  if (found == nullptr) return;
  value.clear();
  for (uint64_t i = 0; i < found->count; ++i) value.push_back(found->ints[i] != 0);
}
inline void Read(const FindAttribute& find, const char* name, std::vector<double>& value) {
  if (const tenon_attribute* found = find(name)) value.assign(found->floats, found->floats + found->count);
}
inline void Read(const FindAttribute& find, const char* name, std::vector<std::string>& value) {
  const tenon_attribute* found = find(name);
  if (found == nullptr) return;
  value.clear();
  for (uint64_t i = 0; i < found->count; ++i) value.emplace_back(sdk::Text(found->texts[i]));
}
inline void Read(const FindAttribute& find, const char* name, TensorValue& value) {
  const tenon_attribute* found = find(name);
  if (found == nullptr || found->tensor == nullptr) return;
  const sdk::Tensor tensor(*found->tensor);
  value.dims.assign(tensor.dims().begin(), tensor.dims().end());
  value.values.resize(static_cast<size_t>(tensor.elements()));
  Load(tensor.dtype(), tensor.data<const void>(), tensor.elements(), value.values.data());
}

// The numbers in a text, whatever stands between them.
inline std::vector<double> NumbersIn(std::string_view text) {
  std::vector<double> numbers;
  const std::string copy(text);
  for (const char* at = copy.c_str(); *at != '\0';) {
    char* end = nullptr;
    const double number = std::strtod(at, &end);
    if (end != at) numbers.push_back(number);
    at = end != at ? end : at + 1;
  }
  return numbers;
}
inline std::vector<int64_t> WholeNumbersIn(std::string_view text) {
  std::vector<int64_t> numbers;
  for (const double number : NumbersIn(text)) numbers.push_back(Convert<int64_t>(number));
  return numbers;
}

inline void Read(const FindAttribute& find, const char* name, std::vector<std::vector<int64_t>>& value) {
  std::vector<std::string> texts;
  Read(find, name, texts);
  if (find(name) == nullptr) return;
  value.clear();
  for (const std::string& text : texts) value.push_back(WholeNumbersIn(text));
}
// "2x3: 1 2 3 4 5 6"; without a colon the text holds one number.
inline void Read(const FindAttribute& find, const char* name, std::vector<TensorValue>& value) {
  std::vector<std::string> texts;
  Read(find, name, texts);
  if (find(name) == nullptr) return;
  value.clear();
  for (const std::string& text : texts) {
    const size_t colon = text.find(':');
    TensorValue tensor;
    if (colon != std::string::npos) tensor.dims = WholeNumbersIn(std::string_view(text).substr(0, colon));
    tensor.values = NumbersIn(std::string_view(text).substr(colon == std::string::npos ? 0 : colon + 1));
    value.push_back(std::move(tensor));
  }
}

// A list of types: dtype numbers of the names "f32", "i64" and so on.
inline void ReadTypes(const FindAttribute& find, const char* name, std::vector<int64_t>& value) {
  std::vector<std::string> texts;
  Read(find, name, texts);
  if (find(name) == nullptr) return;
  value.clear();
  for (const std::string& text : texts) {
    uint32_t dtype = 1;
    while (dtype <= TENON_DTYPE_F4E2M1 && sdk::DTypeName(dtype) != text) ++dtype;
    if (dtype > TENON_DTYPE_F4E2M1)
      throw sdk::Failure(TENON_INVALID_ARGUMENT, "Attribute '", name, "' names the type '", text,
                         "'; types are f32, f16, bf16, f64, i8 to i64, u8 to u64 and bool.");
    value.push_back(dtype);
  }
}

}  // namespace support
