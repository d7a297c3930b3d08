// Structs as a host of another minor hands them over: shorter, or longer with content that today's plugin cannot know.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <type_traits>
#include <vector>

#include "tenon/abi/device.h"
#include "tenon/abi/memory.h"
#include "tenon/abi/op.h"
#include "tenon/abi/plugin.h"
#include "tenon/abi/profiler.h"
#include "tenon/abi/stream.h"
#include "tenon/abi/subgraph.h"

extern "C" {
#define TENON_HOST_STRUCT(type) extern const uint32_t tenon_host_size_##type;
#include "structs.inc"
#undef TENON_HOST_STRUCT
extern const uint32_t tenon_host_minor;
}

namespace tenon::test {

// Size of T in the host; only for the types of structs.inc.
template <class T>
struct HostSize {
  static constexpr bool kKnown = false;
};
#define TENON_HOST_STRUCT(type)                                \
  template <>                                                  \
  struct HostSize<type> {                                      \
    static constexpr bool kKnown = true;                       \
    static uint32_t bytes() { return tenon_host_size_##type; } \
  };
#include "structs.inc"
#undef TENON_HOST_STRUCT

// Memory of the copies of one call. Each copy is an allocation of its own, so that a sanitizer sees a step beyond it.
class Copies {
 public:
  // `given` as the host has it: cut, or with noise behind what is known today.
  template <class T>
  T* Make(const T& given) {
    const uint32_t bytes = HostSize<T>::bytes();
    char* copy = Room(bytes);
    Write(copy, given);
    return reinterpret_cast<T*>(copy);
  }
  // An array in the host's stride, which is written to `stride`.
  template <class T>
  const T* MakeArray(const T* first, uint64_t count, uint32_t& stride) {
    const uint32_t from = stride;
    stride = HostSize<T>::bytes();
    if (first == nullptr || count == 0) return first;
    char* copies = Room(count * stride);
    for (uint64_t i = 0; i < count; ++i) {
      Write(copies + i * stride, *reinterpret_cast<const T*>(reinterpret_cast<const char*>(first) + i * from));
    }
    return reinterpret_cast<const T*>(copies);
  }

 private:
  static constexpr int kNoise = 0xA5;

  char* Room(uint64_t bytes) { return rooms_.emplace_back(new char[bytes]).get(); }

  template <class T>
  void Write(char* room, const T& given) {
    const uint32_t bytes = HostSize<T>::bytes();
    T whole{};
    std::memcpy(&whole, &given, std::min<std::size_t>(given.struct_size, sizeof(T)));
    whole.struct_size = bytes;
    MakeInner(whole);
    std::memset(room, kNoise, bytes);
    std::memcpy(room, &whole, std::min<std::size_t>(bytes, sizeof(T)));
  }

  // Growable structs that a struct points at.
  template <class T>
  void MakeInner(T&) {}
  void MakeInner(tenon_attribute& attribute) {
    if (attribute.tensor != nullptr) attribute.tensor = Make(*attribute.tensor);
  }
  void MakeInner(tenon_value_desc& value) {
    if (value.constant != nullptr) value.constant = Make(*value.constant);
  }
  void MakeInner(tenon_match_value& value) {
    if (value.desc != nullptr) value.desc = Make(*value.desc);
  }
  void MakeInner(tenon_kernel_query& query) {
    query.attributes = MakeArray(query.attributes, query.attribute_count, query.attribute_stride);
    MakeOperands(query);
  }
  void MakeInner(tenon_plan_args& args) { MakeOperands(args); }
  void MakeInner(tenon_kernel_call& call) { MakeOperands(call); }
  void MakeInner(tenon_match& match) {
    match.attributes = MakeArray(match.attributes, match.attribute_count, match.attribute_stride);
    match.values = MakeArray(match.values, match.value_count, match.value_stride);
  }
  template <class T>
  void MakeOperands(T& given) {
    given.inputs = MakeArray(given.inputs, given.input_count, given.input_stride);
    given.outputs = MakeArray(given.outputs, given.output_count, given.output_stride);
  }

  std::vector<std::unique_ptr<char[]>> rooms_;
};

// An argument on its way from today's host to the plugin: as it is, unless it points at a growable struct.
template <class A>
class Argument {
 public:
  explicit Argument(A value) : value_(value) {}
  operator A() { return value_; }

 private:
  A value_;
};
// In-struct.
template <class T>
requires HostSize<T>::kKnown class Argument<const T*> {
 public:
  explicit Argument(const T* value) : value_(value == nullptr ? nullptr : copies_.Make(*value)) {}
  operator const T*() { return value_; }

 private:
  Copies copies_;
  const T* value_;
};
// Out-struct: the plugin may write the host's capacity, of which today's caller gets what it knows.
template <class T>
requires HostSize<T>::kKnown class Argument<T*> {
 public:
  explicit Argument(T* caller) : caller_(caller), value_(caller == nullptr ? nullptr : copies_.Make(*caller)) {}
  Argument(const Argument&) = delete;
  Argument& operator=(const Argument&) = delete;
  ~Argument() {
    if (caller_ == nullptr) return;
    const uint32_t written = std::min({value_->struct_size, caller_->struct_size, HostSize<T>::bytes()});
    std::memcpy(caller_, value_, written);
    caller_->struct_size = written;
  }
  operator T*() { return value_; }

 private:
  Copies copies_;
  T* caller_;
  T* value_;
};

}  // namespace tenon::test
