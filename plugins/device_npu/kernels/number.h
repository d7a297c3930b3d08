// The floating types of the device: stored as f32, bf16 or f16, computed in f32.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "tenon/abi/types.h"
#include "tenon/sdk/error.h"

namespace tenon::npu {

struct Bf16 {
  uint16_t bits;
};
struct F16 {
  uint16_t bits;
};

inline float FromBits(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}
inline uint32_t ToBits(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

inline float Widen(float value) { return value; }
inline float Widen(Bf16 value) { return FromBits(static_cast<uint32_t>(value.bits) << 16); }
// Exponent and fraction move into place; 2^112 puts the exponent right, also for subnormal numbers.
inline float Widen(F16 value) {
  const uint32_t sign = static_cast<uint32_t>(value.bits & 0x8000u) << 16;
  const uint32_t rest = static_cast<uint32_t>(value.bits & 0x7fffu) << 13;
  if (rest >= 0x7c00u << 13) return FromBits(sign | 0x7f800000u | (rest & 0x007fffffu));
  return FromBits(sign | ToBits(FromBits(rest) * 0x1p112f));
}

// Rounds to nearest, ties to even; NaN stays NaN.
template <class T>
T Narrow(float value);
template <>
inline float Narrow<float>(float value) {
  return value;
}
template <>
inline Bf16 Narrow<Bf16>(float value) {
  const uint32_t bits = ToBits(value);
  if (value != value) return {static_cast<uint16_t>(bits >> 16 | 0x40u)};
  return {static_cast<uint16_t>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16)};
}
template <>
inline F16 Narrow<F16>(float value) {
  const uint32_t bits = ToBits(value), sign = bits >> 16 & 0x8000u, rest = bits & 0x7fffffffu;
  if (rest > 0x7f800000u) return {static_cast<uint16_t>(sign | 0x7e00u)};
  if (rest >= 0x477ff000u) return {static_cast<uint16_t>(sign | 0x7c00u)};  // rounds to infinity
  if (rest < 0x38800000u) {                                                 // subnormal: let the adder round
    const float shifted = FromBits(rest) + 0.5f;
    return {static_cast<uint16_t>(sign | (ToBits(shifted) - 0x3f000000u))};
  }
  return {static_cast<uint16_t>(sign | ((rest + 0xfffu + (rest >> 13 & 1u) - 0x38000000u) >> 13))};
}

// fn(T{}) with the stored type of dtype.
template <class Fn>
auto ForFloat(uint32_t dtype, Fn&& fn) {
  switch (dtype) {
    case TENON_DTYPE_F32:
      return fn(float{});
    case TENON_DTYPE_BF16:
      return fn(Bf16{});
    case TENON_DTYPE_F16:
      return fn(F16{});
    default:
      throw sdk::Failure(TENON_UNIMPLEMENTED, "Type ", dtype, " is none of f32, bf16 and f16.");
  }
}

}  // namespace tenon::npu
