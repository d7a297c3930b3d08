// Default values of attributes, for the tables of a definition. What they point to must be static.
#pragma once

#include "tenon/sdk/sdk.h"

namespace support {

namespace sdk = tenon::sdk;

constexpr tenon_attribute OfKind(uint32_t kind) {
  tenon_attribute attribute = TENON_INIT(tenon_attribute);
  attribute.kind = kind;
  return attribute;
}
constexpr tenon_attribute IntDefault(int64_t value) { return sdk::IntDefault(value); }
constexpr tenon_attribute FloatDefault(double value) { return sdk::FloatDefault(value); }
constexpr tenon_attribute FlagDefault(bool value) {
  tenon_attribute attribute = OfKind(TENON_ATTRIBUTE_FLAG);
  attribute.i64 = value ? 1 : 0;
  return attribute;
}
constexpr tenon_attribute TypeDefault(int64_t dtype) {
  tenon_attribute attribute = OfKind(TENON_ATTRIBUTE_DTYPE);
  attribute.i64 = dtype;
  return attribute;
}
constexpr tenon_attribute TextDefault(std::string_view text) {
  tenon_attribute attribute = OfKind(TENON_ATTRIBUTE_TEXT);
  attribute.text = sdk::Str(text);
  return attribute;
}
constexpr tenon_attribute IntsDefault(sdk::Table<int64_t> list = {}) {
  tenon_attribute attribute = OfKind(TENON_ATTRIBUTE_INTS);
  attribute.ints = list.first;
  attribute.count = list.count;
  return attribute;
}
constexpr tenon_attribute FloatsDefault(sdk::Table<double> list = {}) {
  tenon_attribute attribute = OfKind(TENON_ATTRIBUTE_FLOATS);
  attribute.floats = list.first;
  attribute.count = list.count;
  return attribute;
}
constexpr tenon_attribute TextsDefault(sdk::Table<tenon_str> list = {}) {
  tenon_attribute attribute = OfKind(TENON_ATTRIBUTE_TEXTS);
  attribute.texts = list.first;
  attribute.count = list.count;
  return attribute;
}
// A tensor of f64; without dims it is a scalar.
inline tenon_tensor TensorOf(sdk::Table<double> values, sdk::Table<int64_t> dims) {
  tenon_tensor tensor = TENON_INIT(tenon_tensor);
  tensor.flags = TENON_TENSOR_READ_ONLY | TENON_TENSOR_HOST_ACCESSIBLE;
  tensor.address = reinterpret_cast<uintptr_t>(values.first);
  tensor.dtype = TENON_DTYPE_F64;
  tensor.rank = static_cast<uint32_t>(dims.count);
  tensor.dims = dims.first;
  return tensor;
}
constexpr tenon_attribute TensorDefault(const tenon_tensor* tensor) {
  tenon_attribute attribute = OfKind(TENON_ATTRIBUTE_TENSOR);
  attribute.tensor = tensor;
  return attribute;
}

}  // namespace support
