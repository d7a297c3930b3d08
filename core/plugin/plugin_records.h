#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tenon {

// Arrays of growable records that a plugin gives: each element carries its own size first, `stride` bytes from the next.

// Where element `i` lies.
template <class T>
const T* RecordAddress(const T* first, std::uint64_t stride, std::uint64_t i) {
  return reinterpret_cast<const T*>(reinterpret_cast<const char*>(first) + stride * i);
}

// `record` in the host's size: fields that the plugin lacks are 0. Sizes are multiples of 8; what is over belongs to no whole
// field.
template <class T>
T CopyRecord(const T* record) {
  std::uint32_t size = 0;
  std::memcpy(&size, record, sizeof(size));
  T copy{};
  std::memcpy(static_cast<void*>(&copy), record, std::min<std::size_t>(size / 8 * 8, sizeof(T)));
  return copy;
}

template <class T>
T RecordAt(const T* first, std::uint64_t stride, std::uint64_t i) {
  return CopyRecord(RecordAddress(first, stride, i));
}

}  // namespace tenon
