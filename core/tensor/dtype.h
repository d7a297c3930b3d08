#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "core/tensor/float16.h"

namespace tenon {

// Element types with the numbers of ONNX TensorProto.DataType, so that no mapping table exists anywhere.
enum class DType : std::uint32_t {
  kUndefined = 0,
  kF32 = 1,
  kU8 = 2,
  kI8 = 3,
  kU16 = 4,
  kI16 = 5,
  kI32 = 6,
  kI64 = 7,
  kBool = 9,
  kF16 = 10,
  kF64 = 11,
  kU32 = 12,
  kU64 = 13,
  kBF16 = 16,
};

// Bytes of one element; 0 for kUndefined and unknown numbers.
std::int64_t SizeOf(DType dtype);
// As in ONNX and numpy: "float32", "int64", "bool", "bfloat16", ...; "undefined".
std::string_view NameOf(DType dtype);
// Short form of the graph text: f32, i64, bool, bf16, ...
std::string_view ShortNameOf(DType dtype);
// Accepts both forms.
std::optional<DType> ParseDType(std::string_view name);
bool IsFloating(DType dtype);
bool IsSignedInteger(DType dtype);
bool IsUnsignedInteger(DType dtype);
inline bool IsInteger(DType dtype) { return IsSignedInteger(dtype) || IsUnsignedInteger(dtype); }

template <class T>
struct DTypeOf;
template <>
struct DTypeOf<float> {
  static constexpr DType value = DType::kF32;
};
template <>
struct DTypeOf<double> {
  static constexpr DType value = DType::kF64;
};
template <>
struct DTypeOf<Half> {
  static constexpr DType value = DType::kF16;
};
template <>
struct DTypeOf<BFloat16> {
  static constexpr DType value = DType::kBF16;
};
template <>
struct DTypeOf<std::int8_t> {
  static constexpr DType value = DType::kI8;
};
template <>
struct DTypeOf<std::int16_t> {
  static constexpr DType value = DType::kI16;
};
template <>
struct DTypeOf<std::int32_t> {
  static constexpr DType value = DType::kI32;
};
template <>
struct DTypeOf<std::int64_t> {
  static constexpr DType value = DType::kI64;
};
template <>
struct DTypeOf<std::uint8_t> {
  static constexpr DType value = DType::kU8;
};
template <>
struct DTypeOf<std::uint16_t> {
  static constexpr DType value = DType::kU16;
};
template <>
struct DTypeOf<std::uint32_t> {
  static constexpr DType value = DType::kU32;
};
template <>
struct DTypeOf<std::uint64_t> {
  static constexpr DType value = DType::kU64;
};
template <>
struct DTypeOf<bool> {
  static constexpr DType value = DType::kBool;
};

template <class T>
inline constexpr DType kDTypeOf = DTypeOf<T>::value;

// Calls `fn.template operator()<T>()` with the C++ type of `dtype`; returns false for other dtypes than the set named.
//   ForFloating(dtype, [&]<class T>() { ... });
template <class Fn>
bool ForFloating(DType dtype, Fn&& fn) {
  switch (dtype) {
    case DType::kF32:
      fn.template operator()<float>();
      return true;
    case DType::kF64:
      fn.template operator()<double>();
      return true;
    case DType::kF16:
      fn.template operator()<Half>();
      return true;
    case DType::kBF16:
      fn.template operator()<BFloat16>();
      return true;
    default:
      return false;
  }
}

template <class Fn>
bool ForInteger(DType dtype, Fn&& fn) {
  switch (dtype) {
    case DType::kI8:
      fn.template operator()<std::int8_t>();
      return true;
    case DType::kI16:
      fn.template operator()<std::int16_t>();
      return true;
    case DType::kI32:
      fn.template operator()<std::int32_t>();
      return true;
    case DType::kI64:
      fn.template operator()<std::int64_t>();
      return true;
    case DType::kU8:
      fn.template operator()<std::uint8_t>();
      return true;
    case DType::kU16:
      fn.template operator()<std::uint16_t>();
      return true;
    case DType::kU32:
      fn.template operator()<std::uint32_t>();
      return true;
    case DType::kU64:
      fn.template operator()<std::uint64_t>();
      return true;
    default:
      return false;
  }
}

template <class Fn>
bool ForNumeric(DType dtype, Fn&& fn) {
  return ForFloating(dtype, fn) || ForInteger(dtype, fn);
}

template <class Fn>
bool ForAny(DType dtype, Fn&& fn) {
  if (dtype == DType::kBool) {
    fn.template operator()<bool>();
    return true;
  }
  return ForNumeric(dtype, std::forward<Fn>(fn));
}

// Type in which sums of T are kept: float for 16-bit floats, double for double, T otherwise.
template <class T>
struct AccumulatorOf {
  using type = T;
};
template <>
struct AccumulatorOf<Half> {
  using type = float;
};
template <>
struct AccumulatorOf<BFloat16> {
  using type = float;
};
template <class T>
using Accumulator = typename AccumulatorOf<T>::type;

}  // namespace tenon
