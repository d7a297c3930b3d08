// Text without allocation: conversions of tenon_str and a fixed buffer that messages are put together in.
#pragma once

#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <type_traits>

#include "tenon/abi/types.h"

namespace tenon::sdk {

constexpr tenon_str Str(std::string_view text) { return {text.data(), text.size()}; }

constexpr std::string_view Text(tenon_str text) {
  return text.data == nullptr ? std::string_view() : std::string_view(text.data, static_cast<size_t>(text.size));
}

// Borrowed list of sizes.
class Dims {
 public:
  constexpr Dims() = default;
  constexpr Dims(const int64_t* data, uint32_t size) : data_(data), size_(size) {}
  constexpr const int64_t* begin() const { return data_; }
  constexpr const int64_t* end() const { return data_ + size_; }
  constexpr const int64_t* data() const { return data_; }
  constexpr uint32_t size() const { return size_; }
  constexpr int64_t operator[](uint32_t axis) const { return data_[axis]; }
  // Product of all sizes; 1 for rank 0. Only for known sizes.
  constexpr int64_t Elements() const {
    int64_t product = 1;
    for (uint32_t axis = 0; axis < size_; ++axis) product *= data_[axis];
    return product;
  }
  // False when some size is not known yet (-1).
  constexpr bool Known() const {
    for (uint32_t axis = 0; axis < size_; ++axis) {
      if (data_[axis] < 0) return false;
    }
    return true;
  }
  friend constexpr bool operator==(Dims a, Dims b) {
    if (a.size_ != b.size_) return false;
    for (uint32_t axis = 0; axis < a.size_; ++axis) {
      if (a.data_[axis] != b.data_[axis]) return false;
    }
    return true;
  }
  friend constexpr bool operator!=(Dims a, Dims b) { return !(a == b); }

 private:
  const int64_t* data_ = nullptr;
  uint32_t size_ = 0;
};

// Message in a fixed buffer; what does not fit is cut off.
class TextBuffer {
 public:
  template <typename... Parts>
  explicit TextBuffer(const Parts&... parts) {
    (Add(parts), ...);
  }

  void Add(std::string_view text) {
    const size_t room = sizeof(data_) - size_;
    const size_t count = text.size() < room ? text.size() : room;
    if (count > 0) std::memcpy(data_ + size_, text.data(), count);
    size_ += count;
  }
  void Add(tenon_str text) { Add(Text(text)); }
  void Add(const char* text) { Add(std::string_view(text)); }
  void Add(bool value) { Add(std::string_view(value ? "true" : "false")); }
  void Add(char value) { Add(std::string_view(&value, 1)); }
  void Add(Dims dims) {
    Add('[');
    for (uint32_t axis = 0; axis < dims.size(); ++axis) {
      if (axis > 0) Add(", ");
      if (dims[axis] < 0) {
        Add('?');
      } else {
        Add(dims[axis]);
      }
    }
    Add(']');
  }
  template <typename T, std::enable_if_t<std::is_integral_v<T>, int> = 0>
  void Add(T value) {
    const auto result = std::to_chars(data_ + size_, data_ + sizeof(data_), value);
    if (result.ec == std::errc()) size_ = static_cast<size_t>(result.ptr - data_);
  }
  template <typename T, std::enable_if_t<std::is_floating_point_v<T>, int> = 0>
  void Add(T value) {
    char digits[40];
    const int count = std::snprintf(digits, sizeof(digits), "%g", static_cast<double>(value));
    if (count > 0) Add(std::string_view(digits, static_cast<size_t>(count)));
  }

  std::string_view View() const { return {data_, size_}; }

 private:
  char data_[1000];
  size_t size_ = 0;
};

}  // namespace tenon::sdk
