// Reading and building attribute lists.
#pragma once

#include <initializer_list>

#include "tenon/sdk/error.h"
#include "tenon/sdk/tensor.h"

namespace tenon::sdk {

// Reader of a sorted attribute list. A missing attribute gives the fallback; one of another kind throws Failure.
class Attributes {
 public:
  Attributes(const tenon_attribute* first, uint32_t count, uint32_t stride)
      : first_(first), count_(count), stride_(stride) {}

  uint32_t size() const { return count_; }
  const tenon_attribute& at(uint32_t index) const { return AtStride(first_, stride_, index); }

  // NULL when it is not there.
  const tenon_attribute* Find(std::string_view name) const {
    uint32_t low = 0;
    uint32_t high = count_;
    while (low < high) {
      const uint32_t middle = low + (high - low) / 2;
      const int order = Text(at(middle).name).compare(name);
      if (order == 0) return &at(middle);
      if (order < 0) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return nullptr;
  }
  bool Has(std::string_view name) const { return Find(name) != nullptr; }

  int64_t Int(std::string_view name, int64_t fallback) const {
    const tenon_attribute* found = Find(name);
    if (found == nullptr) return fallback;
    if (found->kind == TENON_ATTRIBUTE_FLAG || found->kind == TENON_ATTRIBUTE_DTYPE) return found->i64;
    return Checked(*found, TENON_ATTRIBUTE_INT).i64;
  }
  double Float(std::string_view name, double fallback) const {
    const tenon_attribute* found = Find(name);
    if (found == nullptr) return fallback;
    if (found->kind == TENON_ATTRIBUTE_INT) return static_cast<double>(found->i64);
    return Checked(*found, TENON_ATTRIBUTE_FLOAT).f64;
  }
  bool Flag(std::string_view name, bool fallback) const {
    const tenon_attribute* found = Find(name);
    if (found == nullptr) return fallback;
    if (found->kind == TENON_ATTRIBUTE_INT) return found->i64 != 0;
    return Checked(*found, TENON_ATTRIBUTE_FLAG).i64 != 0;
  }
  std::string_view String(std::string_view name, std::string_view fallback) const {
    const tenon_attribute* found = Find(name);
    return found == nullptr ? fallback : Text(Checked(*found, TENON_ATTRIBUTE_TEXT).text);
  }
  // Empty when it is not there. Lives as long as the list.
  Dims Ints(std::string_view name) const {
    const tenon_attribute* found = Find(name);
    if (found == nullptr) return {};
    if (found->kind != TENON_ATTRIBUTE_SHAPE) Checked(*found, TENON_ATTRIBUTE_INTS);
    return {found->ints, static_cast<uint32_t>(found->count)};
  }
  // Integer number index of a list; the fallback when the list is not there or shorter.
  int64_t IntAt(std::string_view name, uint32_t index, int64_t fallback) const {
    const Dims list = Ints(name);
    return index < list.size() ? list[index] : fallback;
  }
  // NULL when it is not there.
  const tenon_tensor* TensorValue(std::string_view name) const {
    const tenon_attribute* found = Find(name);
    return found == nullptr ? nullptr : Checked(*found, TENON_ATTRIBUTE_TENSOR).tensor;
  }

 private:
  static const tenon_attribute& Checked(const tenon_attribute& attribute, uint32_t kind) {
    if (attribute.kind != kind) {
      throw Failure(TENON_INVALID_ARGUMENT, "Attribute '", attribute.name, "' has kind ", attribute.kind, "; kind ",
                    kind, " is needed.");
    }
    return attribute;
  }

  const tenon_attribute* first_;
  uint32_t count_;
  uint32_t stride_;
};

// A short attribute list under construction, kept sorted. Names, texts and arrays are borrowed.
template <uint32_t kCapacity = 8>
class AttributeList {
 public:
  AttributeList& Int(std::string_view name, int64_t value) {
    Add(name, TENON_ATTRIBUTE_INT).i64 = value;
    return *this;
  }
  AttributeList& Flag(std::string_view name, bool value) {
    Add(name, TENON_ATTRIBUTE_FLAG).i64 = value ? 1 : 0;
    return *this;
  }
  AttributeList& DType(std::string_view name, uint32_t value) {
    Add(name, TENON_ATTRIBUTE_DTYPE).i64 = value;
    return *this;
  }
  AttributeList& Float(std::string_view name, double value) {
    Add(name, TENON_ATTRIBUTE_FLOAT).f64 = value;
    return *this;
  }
  AttributeList& String(std::string_view name, std::string_view value) {
    Add(name, TENON_ATTRIBUTE_TEXT).text = Str(value);
    return *this;
  }
  AttributeList& Ints(std::string_view name, Dims values) {
    tenon_attribute& attribute = Add(name, TENON_ATTRIBUTE_INTS);
    attribute.ints = values.data();
    attribute.count = values.size();
    return *this;
  }
  AttributeList& Copy(const tenon_attribute& other) {
    Add(Text(other.name), other.kind) = other;
    return *this;
  }
  const tenon_attribute* data() const { return list_; }
  uint32_t size() const { return count_; }

 private:
  tenon_attribute& Add(std::string_view name, uint32_t kind) {
    if (count_ == kCapacity) throw Failure(TENON_INTERNAL, "An attribute list holds at most ", kCapacity, " entries.");
    uint32_t place = count_;
    while (place > 0 && Text(list_[place - 1].name) > name) {
      list_[place] = list_[place - 1];
      --place;
    }
    ++count_;
    list_[place] = TENON_INIT(tenon_attribute);
    list_[place].kind = kind;
    list_[place].name = Str(name);
    return list_[place];
  }

  tenon_attribute list_[kCapacity];
  uint32_t count_ = 0;
};

}  // namespace tenon::sdk
