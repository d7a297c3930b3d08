// 16-bit floats as they lie in memory, and their conversions: to the nearest, ties to even.
#pragma once

#include <cstdint>
#include <cstring>

namespace tenon::hccl {

namespace bits {
inline float ToFloat(uint32_t word) {
  float value = 0;
  std::memcpy(&value, &word, sizeof value);
  return value;
}
inline uint32_t Of(float value) {
  uint32_t word = 0;
  std::memcpy(&word, &value, sizeof word);
  return word;
}
}  // namespace bits

// IEEE binary16.
struct Half {
  uint16_t word;

  float ToFloat() const {
    const uint32_t sign = static_cast<uint32_t>(word & 0x8000u) << 16;
    const uint32_t exponent = (word >> 10) & 31u, fraction = word & 1023u;
    if (exponent == 0) {
      const float magnitude = static_cast<float>(fraction) * 0x1p-24F;
      return sign != 0 ? -magnitude : magnitude;
    }
    const uint32_t wide = exponent == 31 ? 0x7F800000u : (exponent + 112) << 23;
    return bits::ToFloat(sign | wide | (fraction << 13));
  }
  static Half From(float value) {
    const uint32_t whole = bits::Of(value), magnitude = whole & 0x7FFFFFFFu;
    const auto sign = static_cast<uint16_t>((whole >> 16) & 0x8000u);
    const auto with_sign = [sign](uint32_t rest) { return Half{static_cast<uint16_t>(sign | rest)}; };
    if (magnitude > 0x7F800000u) return with_sign(0x7E00u | ((magnitude >> 13) & 0x1FFu));
    if (magnitude >= 0x477FF000u) return with_sign(0x7C00u);  // rounds to infinity
    if (magnitude < 0x38800000u) {
      // Subnormal: 0.5 has the same unit in the last place as the smallest half.
      return with_sign(bits::Of(bits::ToFloat(magnitude) + 0.5F) - 0x3F000000u);
    }
    const uint32_t odd = (magnitude >> 13) & 1u;
    return with_sign((magnitude - (112u << 23) + 0xFFFu + odd) >> 13);
  }
};

// bfloat16: the upper half of a float.
struct Brain {
  uint16_t word;

  float ToFloat() const { return bits::ToFloat(static_cast<uint32_t>(word) << 16); }
  static Brain From(float value) {
    const uint32_t whole = bits::Of(value);
    const uint32_t rounded = (whole + 0x7FFFu + ((whole >> 16) & 1u)) >> 16;
    const uint32_t quiet = (whole >> 16) | 0x40u;
    return {static_cast<uint16_t>((whole & 0x7FFFFFFFu) > 0x7F800000u ? quiet : rounded)};
  }
};

}  // namespace tenon::hccl
