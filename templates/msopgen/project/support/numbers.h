// Elements of all types, converted to and from the type in which they are computed: double where an operand is floating,
// else uint64_t where one is u64, else int64_t.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "tenon/sdk/sdk.h"

namespace support {

constexpr bool IsFloating(uint32_t dtype) {
  return dtype == TENON_DTYPE_F32 || dtype == TENON_DTYPE_F64 || dtype == TENON_DTYPE_F16 || dtype == TENON_DTYPE_BF16;
}

// A 16-bit float with this many exponent and fraction bits: 5 and 10 for f16, 8 and 7 for bf16.
inline double DecodeFloat16(uint16_t code, int exponent_bits, int fraction_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = (code >> fraction_bits) & ((1 << exponent_bits) - 1);
  const int fraction = code & ((1 << fraction_bits) - 1);
  const double sign = (code & 0x8000) != 0 ? -1 : 1;
  if (exponent == (1 << exponent_bits) - 1) {
    return fraction != 0 ? std::numeric_limits<double>::quiet_NaN() : sign * std::numeric_limits<double>::infinity();
  }
  if (exponent == 0) return sign * std::ldexp(fraction, 1 - bias - fraction_bits);
  return sign * std::ldexp(fraction + (1 << fraction_bits), exponent - bias - fraction_bits);
}

// Rounds to nearest, ties to even.
inline uint16_t EncodeFloat16(double value, int exponent_bits, int fraction_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int all_ones = (1 << exponent_bits) - 1;
  const int sign = std::signbit(value) ? 0x8000 : 0;
  if (std::isnan(value)) return static_cast<uint16_t>(sign | (all_ones << fraction_bits) | 1 << (fraction_bits - 1));
  if (value == 0) return static_cast<uint16_t>(sign);
  const double size = std::fabs(value);
  int exponent = std::isinf(size) ? bias + 1 : std::ilogb(size);
  if (exponent < 1 - bias) exponent = 1 - bias;
  if (exponent > bias) return static_cast<uint16_t>(sign | (all_ones << fraction_bits));
  // In units of the last place; rounding up to the next power of two carries into the exponent by itself.
  const int units = static_cast<int>(std::nearbyint(std::ldexp(size, fraction_bits - exponent)));
  const int code = ((exponent + bias - 1) << fraction_bits) + units;
  return static_cast<uint16_t>(sign | code);
}

// Conversion without undefined behaviour: what is out of range becomes the nearest limit, NaN becomes 0.
template <class To, class From>
To Convert(From value) {
  if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    if (std::isnan(value)) return 0;
    if (value <= static_cast<From>(std::numeric_limits<To>::min())) return std::numeric_limits<To>::min();
    if (value >= static_cast<From>(std::numeric_limits<To>::max())) return std::numeric_limits<To>::max();
  }
  return static_cast<To>(value);
}

// Calls body(V()) with the C++ type of a dtype; false for one that has none here (f16 and bf16 among them).
template <class Body>
bool WithPlainType(uint32_t dtype, Body&& body) {
  switch (dtype) {
    case TENON_DTYPE_F32:
      return body(float()), true;
    case TENON_DTYPE_F64:
      return body(double()), true;
    case TENON_DTYPE_I8:
      return body(int8_t()), true;
    case TENON_DTYPE_I16:
      return body(int16_t()), true;
    case TENON_DTYPE_I32:
      return body(int32_t()), true;
    case TENON_DTYPE_I64:
      return body(int64_t()), true;
    case TENON_DTYPE_U8:
    case TENON_DTYPE_BOOL:
      return body(uint8_t()), true;
    case TENON_DTYPE_U16:
      return body(uint16_t()), true;
    case TENON_DTYPE_U32:
      return body(uint32_t()), true;
    case TENON_DTYPE_U64:
      return body(uint64_t()), true;
    default:
      return false;
  }
}

// Reads count elements of dtype as values of T.
template <class T>
void Load(uint32_t dtype, const void* from, int64_t count, T* to) {
  const bool half = dtype == TENON_DTYPE_F16;
  if (half || dtype == TENON_DTYPE_BF16) {
    const auto* codes = static_cast<const uint16_t*>(from);
    for (int64_t i = 0; i < count; ++i) to[i] = Convert<T>(DecodeFloat16(codes[i], half ? 5 : 8, half ? 10 : 7));
    return;
  }
  const bool known = WithPlainType(dtype, [&](auto type) {
    using Stored = decltype(type);
    const auto* stored = static_cast<const Stored*>(from);
    for (int64_t i = 0; i < count; ++i) to[i] = Convert<T>(stored[i]);
  });
  if (!known) throw tenon::sdk::Failure(TENON_UNIMPLEMENTED, "Elements of type ", dtype, " cannot be read.");
}

// Writes count values as elements of dtype. A bool is 1 where the value is not 0.
template <class T>
void Store(uint32_t dtype, const T* from, int64_t count, void* to) {
  const bool half = dtype == TENON_DTYPE_F16;
  if (half || dtype == TENON_DTYPE_BF16) {
    auto* codes = static_cast<uint16_t*>(to);
    for (int64_t i = 0; i < count; ++i)
      codes[i] = EncodeFloat16(static_cast<double>(from[i]), half ? 5 : 8, half ? 10 : 7);
    return;
  }
  const bool known = WithPlainType(dtype, [&](auto type) {
    using Stored = decltype(type);
    auto* stored = static_cast<Stored*>(to);
    for (int64_t i = 0; i < count; ++i)
      stored[i] = dtype == TENON_DTYPE_BOOL ? static_cast<Stored>(from[i] != 0) : Convert<Stored>(from[i]);
  });
  if (!known) throw tenon::sdk::Failure(TENON_UNIMPLEMENTED, "Elements of type ", dtype, " cannot be written.");
}

// Quotient that is defined for every pair of integers: 0 where the divisor is 0.
template <class T>
T Quotient(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    if (b == 0) return 0;
    if (std::is_signed_v<T> && b == static_cast<T>(-1)) return static_cast<T>(0 - static_cast<uint64_t>(a));
  }
  return a / b;
}

// f(x) computed in double for every T.
template <class T, class Function>
T Real(Function function, T x) {
  return Convert<T>(function(static_cast<double>(x)));
}

}  // namespace support
